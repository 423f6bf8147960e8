//! What holds a child: the layers of its confinement, by name.

/// Some of the layers. Each is a bit, in the order of [`Layers::NAMES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers(u32);

impl Layers {
    /// No layer.
    pub const NONE: Self = Self(0);
    /// No program that it starts has more rights than it has.
    pub const NO_NEW_PRIVS: Self = Self(1);
    /// It has no capabilities.
    pub const CAPABILITIES: Self = Self(1 << 1);
    /// A user namespace of its own, in which no user is one outside.
    pub const USER: Self = Self(1 << 2);
    /// A network namespace of its own, without any interface that is up.
    pub const NETWORK: Self = Self(1 << 3);
    /// A process namespace of its own: it can name no process but itself.
    pub const PROCESSES: Self = Self(1 << 4);
    /// A mount namespace of its own.
    pub const MOUNTS: Self = Self(1 << 5);
    /// A namespace of its own for System V IPC and POSIX message queues.
    pub const IPC: Self = Self(1 << 6);
    /// Landlock without any path, on the thread that runs scripts; on all threads from Linux 7.0
    /// on.
    pub const LANDLOCK: Self = Self(1 << 7);
    /// System calls outside of a list fail or kill, on all threads.
    pub const SECCOMP: Self = Self(1 << 8);
    /// Bounds of memory, address space, descriptors, file sizes, and no core files.
    pub const LIMITS: Self = Self(1 << 9);
    /// A bound of its threads and processes.
    pub const THREADS: Self = Self(1 << 10);
    /// Every layer.
    pub const ALL: Self = Self((1 << 11) - 1);
    /// The namespaces.
    pub const NAMESPACES: Self = Self(0b111_1100);
    /// The layers that need no rights of the node, only a Linux with seccomp.
    pub const SYSTEM_CALLS: Self =
        Self(Self::NO_NEW_PRIVS.0 | Self::CAPABILITIES.0 | Self::SECCOMP.0 | Self::LIMITS.0);

    /// The names, each for one bit.
    pub const NAMES: [&'static str; 11] = hearth_metrics::SCRIPT_LAYERS;

    /// Those of a number's bits.
    #[must_use]
    pub const fn of_bits(bits: u32) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// As a number.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether all of the others are among them.
    #[must_use]
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// These and the others.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These without the others.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Those that are also among the others.
    #[must_use]
    pub const fn among(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let with_bits = Self::NAMES.into_iter().enumerate();
        with_bits.filter(move |(bit, _)| self.0 & (1 << bit) != 0).map(|(_, name)| name)
    }
}

impl std::fmt::Display for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::NONE {
            return f.write_str("none");
        }
        f.write_str(&self.names().collect::<Vec<_>>().join(", "))
    }
}
