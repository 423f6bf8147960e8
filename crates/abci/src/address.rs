//! Where the server listens.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

/// Longest path of a Unix socket, in bytes: `sun_path` without its end (unix(7)).
pub const UNIX_PATH_BYTES_MAX: usize = 107;

/// An address in CometBFT's notation: `unix:///absolute/path` or `tcp://IP:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP socket.
    Tcp(SocketAddr),
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Neither of the two kinds.
    #[error("{0:?} is no address of an ABCI server: unix:///absolute/path or tcp://127.0.0.1:PORT")]
    Unknown(String),
    /// A relative path: CometBFT takes absolute ones alone.
    #[error("{0:?}: the path of a Unix socket is absolute: unix:///absolute/path")]
    Relative(String),
    /// More than the system takes.
    #[error("the path of the socket has {length} bytes, at most {UNIX_PATH_BYTES_MAX}: {path}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The path.
        path: String,
    },
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let unknown = || AddressError::Unknown(text.to_owned());
        if let Some(path) = text.strip_prefix("unix://") {
            return match path.len() {
                0 => Err(unknown()),
                _ if !path.starts_with('/') => Err(AddressError::Relative(text.to_owned())),
                length if length > UNIX_PATH_BYTES_MAX => {
                    Err(AddressError::TooLong { length, path: path.to_owned() })
                }
                _ => Ok(Self::Unix(path.into())),
            };
        }
        let host = text.strip_prefix("tcp://").ok_or_else(unknown)?;
        if let Some(port) = host.strip_prefix("localhost:") {
            let port = port.parse().map_err(|_| unknown())?;
            return Ok(Self::Tcp(SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port)));
        }
        host.parse().map(Self::Tcp).map_err(|_| unknown())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_in_the_notation_of_cometbft() {
        for text in ["unix:///run/hearth/abci.sock", "tcp://127.0.0.1:26658", "tcp://[::1]:1"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("tcp://localhost:5".parse::<Address>().unwrap().to_string(), "tcp://127.0.0.1:5");
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_would_be_right() {
        let of = |text: &str| text.parse::<Address>().unwrap_err().to_string();
        assert!(of("abci.sock").contains("unix:///absolute/path or tcp://127.0.0.1:PORT"));
        assert!(of("tcp://host").starts_with("\"tcp://host\" is no address"));
        assert!(of("unix://").starts_with("\"unix://\" is no address"));
        assert!(of("unix://run/x").contains("is absolute"));
        let long = format!("unix:///{}", "x".repeat(UNIX_PATH_BYTES_MAX));
        assert!(of(&long).starts_with("the path of the socket has 108 bytes, at most 107"));
        assert!(long[..long.len() - 1].parse::<Address>().is_ok());
    }
}
