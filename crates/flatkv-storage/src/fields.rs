//! Small files of the store: lines of `name=value`, the last one a checksum over those before.

use crate::{FlatKvError, files::write_whole};
use alloy_primitives::B256;
use hearth_disk::Disk;
use std::{fmt::Display, io, path::Path, str::FromStr};

const CHECKSUM: &str = "crc32";

/// Fields of a small file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Adds a field, whose value must have no line break.
    pub fn put(&mut self, name: &str, value: impl Display) -> &mut Self {
        self.0.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a list of numbers.
    pub fn put_numbers(&mut self, name: &str, numbers: &[u64]) -> &mut Self {
        let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
        self.put(name, numbers.join(","))
    }

    fn to_text(&self) -> String {
        let body: String = self.0.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let crc = crc32fast::hash(body.as_bytes());
        format!("{body}{CHECKSUM}={crc:08x}\n")
    }

    fn from_text(text: &str) -> Option<Self> {
        let at = text.rfind(&format!("{CHECKSUM}="))?;
        let (body, checksum) = text.split_at_checked(at)?;
        if checksum != format!("{CHECKSUM}={:08x}\n", crc32fast::hash(body.as_bytes())) {
            return None;
        }
        let field =
            |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        body.lines().map(field).collect::<Option<_>>().map(Self)
    }

    /// Writes the file so that it is there whole or not at all, and durable.
    pub fn write(&self, disk: &dyn Disk, path: &Path) -> Result<(), FlatKvError> {
        write_whole(disk, path, self.to_text().as_bytes())
    }

    /// Reads a file; `None` where there is none.
    ///
    /// # Errors
    /// [`FlatKvError::BadFile`] where the checksum is wrong.
    pub fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Self>, FlatKvError> {
        let bytes = match disk.read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FlatKvError::io(path)(error)),
        };
        let fields = std::str::from_utf8(&bytes).ok().and_then(Self::from_text);
        fields.map(Some).ok_or_else(|| bad(path, "its checksum is wrong"))
    }

    /// The value of a field.
    pub fn text(&self, path: &Path, name: &str) -> Result<&str, FlatKvError> {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str()).ok_or_else(|| bad(path, &format!("{name} is missing")))
    }

    /// The value of a field that reads as something.
    pub fn get<T: FromStr>(&self, path: &Path, name: &str) -> Result<T, FlatKvError> {
        self.text(path, name)?.parse().map_err(|_| bad(path, &format!("{name} does not read")))
    }

    /// A hash.
    pub fn hash(&self, path: &Path, name: &str) -> Result<B256, FlatKvError> {
        self.get(path, name)
    }

    /// A list of numbers.
    pub fn numbers(&self, path: &Path, name: &str) -> Result<Vec<u64>, FlatKvError> {
        let text = self.text(path, name)?;
        let numbers = text.split(',').filter(|number| !number.is_empty()).map(str::parse);
        numbers.collect::<Result<_, _>>().map_err(|_| bad(path, &format!("{name} does not read")))
    }
}

fn bad(path: &Path, why: &str) -> FlatKvError {
    FlatKvError::BadFile { path: path.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_disk::sim::SimDisk;

    #[test]
    fn fields_read_back_and_no_other_bytes_do() {
        let disk = SimDisk::new();
        disk.create_dir_all(Path::new("/d")).unwrap();
        let path = Path::new("/d/file");
        assert_eq!(Fields::read(&disk, path).unwrap(), None);
        let mut fields = Fields::default();
        fields.put("height", 7).put("hash", B256::repeat_byte(3)).put_numbers("positions", &[1, 22]);
        fields.put_numbers("none", &[]);
        fields.write(&disk, path).unwrap();
        let read = Fields::read(&disk, path).unwrap().unwrap();
        assert_eq!(read, fields);
        assert_eq!(read.get::<u64>(path, "height").unwrap(), 7);
        assert_eq!(read.hash(path, "hash").unwrap(), B256::repeat_byte(3));
        assert_eq!(read.numbers(path, "positions").unwrap(), [1, 22]);
        assert_eq!(read.numbers(path, "none").unwrap(), [0; 0]);
        let why = read.get::<u64>(path, "weight").unwrap_err().to_string();
        assert_eq!(why, "/d/file: weight is missing");
        let bytes = disk.read(path).unwrap();
        for at in 0..bytes.len() {
            let mut spoilt = bytes.clone();
            spoilt[at] ^= 1;
            let read = std::str::from_utf8(&spoilt).ok().and_then(Fields::from_text);
            assert_eq!(read, None, "byte {at}");
            assert_eq!(std::str::from_utf8(&bytes[..at]).ok().and_then(Fields::from_text), None);
        }
    }
}
