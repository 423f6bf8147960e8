//! Which file systems lie on this machine.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

/// Whether a path lies on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsKind {
    /// A file system of this machine.
    Local,
    /// One that other machines may write to as well, or that may go away with the network; with its
    /// name.
    Network(&'static str),
}

/// Magic numbers of statfs(2) and what they stand for.
const NETWORK: [(u32, &str); 13] = [
    (0x0000_6969, "nfs"),
    (0x0000_517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x0000_564c, "ncp"),
    (0x7375_7245, "coda"),
    (0x0bd0_0bd0, "lustre"),
    (0x0116_1970, "gfs2"),
    (0x7461_636f, "ocfs2"),
    (0x1983_0326, "beegfs"),
    (0x4750_4653, "gpfs"),
];

const FUSE: u32 = 0x6573_5546;

/// Subtypes of FUSE that talk to another machine, as `/proc/self/mountinfo` has them.
const FUSE_NETWORK: [&str; 9] =
    ["sshfs", "s3fs", "glusterfs", "rclone", "gcsfuse", "ceph-fuse", "davfs", "juicefs", "mfs"];

/// Looks at the file system of an existing path.
pub(crate) fn fs_kind(path: &Path) -> io::Result<FsKind> {
    // The magic number is 32 bits wide; the field is signed and wider on some machines.
    let magic = rustix::fs::statfs(path)?.f_type as u32;
    if let Some((_, name)) = NETWORK.iter().find(|(number, _)| *number == magic) {
        return Ok(FsKind::Network(name));
    }
    if magic == FUSE {
        let device = fs::metadata(path)?.dev();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        return Ok(fuse_kind(&mounts, &format!("{major}:{minor}")));
    }
    Ok(FsKind::Local)
}

/// Kind of the FUSE mount with a device number, `major:minor`, in the text of mountinfo.
fn fuse_kind(mounts: &str, device: &str) -> FsKind {
    let of_device = mounts.lines().filter(|line| line.split(' ').nth(2) == Some(device));
    let mut types = of_device.filter_map(|line| line.split(" - ").nth(1)?.split(' ').next());
    let subtype = types.find_map(|name| name.strip_prefix("fuse."));
    let network = FUSE_NETWORK.iter().find(|name| subtype == Some(name));
    network.map_or(FsKind::Local, |name| FsKind::Network(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temporary_folder_is_local() {
        assert_eq!(fs_kind(&std::env::temp_dir()).unwrap(), FsKind::Local);
        assert_eq!(fs_kind(Path::new("/no/such/path")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn fuse_mounts_are_told_apart_by_subtype() {
        let mounts = "36 35 0:52 / /mnt/a rw,noatime master:1 - fuse.sshfs me@host:/ rw\n\
                      37 35 0:53 / /mnt/b rw,noatime - fuse.ntfs-3g /dev/sdb1 rw\n";
        assert_eq!(fuse_kind(mounts, "0:52"), FsKind::Network("sshfs"));
        assert_eq!(fuse_kind(mounts, "0:53"), FsKind::Local);
        assert_eq!(fuse_kind(mounts, "0:54"), FsKind::Local);
    }
}
