//! Blocks at an interval: one thread that makes them.

use super::producer::{DevChain, Steps};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::JoinHandle,
    time::Instant,
};

/// The thread; ends when this is dropped.
pub struct IntervalMiner {
    dev: Arc<DevChain>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl IntervalMiner {
    /// Starts it. It sleeps as long as there is no interval.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(dev: &Arc<DevChain>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (its_dev, its_stop) = (dev.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("hearth-interval".to_owned())
            .spawn(move || run(&its_dev, &its_stop))?;
        Ok(Self { dev: dev.clone(), stop, thread: Some(thread) })
    }
}

fn run(dev: &DevChain, stop: &AtomicBool) {
    let mut since = Instant::now();
    loop {
        let mut mining = dev.mining.lock();
        let before = mining.interval;
        if stop.load(SeqCst) {
            return;
        }
        match before {
            None => dev.mining_changed.wait(&mut mining),
            Some(every) => drop(dev.mining_changed.wait_until(&mut mining, since + every)),
        }
        let changed = mining.interval != before;
        drop(mining);
        if stop.load(SeqCst) {
            return;
        }
        match before {
            Some(every) if !changed && since.elapsed() >= every => {
                since = Instant::now();
                // A failing store reports its error to every request; the next block may be
                // possible again.
                let _ = dev.mine_blocks(1, Steps::default(), &|| stop.load(SeqCst));
            }
            _ if changed => since = Instant::now(),
            _ => {}
        }
    }
}

impl Drop for IntervalMiner {
    fn drop(&mut self) {
        {
            // Under the lock, so that the thread cannot have looked and not be waiting yet.
            let _mining = self.dev.mining.lock();
            self.stop.store(true, SeqCst);
            self.dev.mining_changed.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
