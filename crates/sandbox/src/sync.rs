//! Locks, channels and threads of the pool. Unit tests take shuttle's instead, so that the model
//! of the pool (`model`) runs the pool's own code under many orders of its threads.

#[cfg(not(test))]
pub(crate) use {
    parking_lot::{Condvar, Mutex, MutexGuard},
    std::{sync::mpsc, thread},
};

#[cfg(test)]
pub(crate) use crate::model::sync::{Condvar, Mutex, MutexGuard, mpsc, thread};
