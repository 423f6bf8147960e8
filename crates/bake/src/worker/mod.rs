//! Who bakes when: the queue, the threads, catch-up, gaps and retries.
