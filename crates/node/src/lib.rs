//! Opens a home and wires the rooms below it
