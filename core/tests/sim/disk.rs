//! A disk with a page cache and a platter, and one file on it.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    io,
    rc::Rc,
};

pub(crate) const SECTOR: usize = 512;

/// The serial and the marks of the newest record in a file: not read by the code under test.
pub(crate) fn newest_record(file: &[u8]) -> Option<(u64, [u64; 2])> {
    let record = |page: &[u8]| {
        let page = String::from_utf8_lossy(page).into_owned();
        let (line, rest) = page.split_once(" crc32=")?;
        let checksum = format!("{:08x}", crc32fast::hash(line.as_bytes()));
        let value = |name| line.split(' ').find_map(|word| word.strip_prefix(name)?.parse().ok());
        rest.starts_with(&checksum).then_some((value("serial=")?, [value("side0=")?, value("side1=")?]))
    };
    file.chunks(4096).filter_map(record).max()
}

/// A file: what processes read, what survives a power failure, and which sectors differ as far as the system knows.
pub(crate) struct Inode {
    pub(crate) number: u64,
    pub(crate) cache: RefCell<Vec<u8>>,
    platter: RefCell<Vec<u8>>,
    dirty: RefCell<BTreeSet<usize>>,
    /// The sectors that have space on the disk; and whether a write has succeeded, so that all others have to.
    allocated: RefCell<BTreeSet<usize>>,
    pub(crate) is_complete: Cell<bool>,
    /// The handle that has locked it.
    locked: Cell<u64>,
}

impl Inode {
    /// A file with this content, on the platter.
    fn new(number: u64, content: Vec<u8>) -> Rc<Self> {
        Rc::new(Self {
            number,
            allocated: RefCell::new((0..content.len().div_ceil(SECTOR)).collect()),
            cache: RefCell::new(content.clone()),
            platter: RefCell::new(content),
            dirty: RefCell::default(),
            is_complete: Cell::new(false),
            locked: Cell::new(0),
        })
    }

    /// Brings to the platter what the system knows to be different. `part` says how many bytes of a sector arrive. It
    /// is told whether a page holds a record: only then a sector may tear, since the first record fits into one.
    fn flush(&self, part: &dyn Fn(bool) -> usize) {
        let (cache, mut platter) = (self.cache.borrow(), self.platter.borrow_mut());
        for sector in self.dirty.take() {
            let part = part(newest_record(&platter).is_some());
            if part > 0 {
                let bytes = sector * SECTOR..(sector * SECTOR + part).min(cache.len());
                let length = platter.len().max(bytes.end);
                platter.resize(length, 0);
                platter[bytes.clone()].copy_from_slice(&cache[bytes]);
            }
        }
    }
}

/// An open file.
pub(crate) struct Handle {
    pub(crate) inode: Rc<Inode>,
    id: u64,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.inode.locked.get() == self.id {
            self.inode.locked.set(0);
        }
    }
}

#[derive(Default)]
pub(crate) struct Disk {
    file: RefCell<Option<Rc<Inode>>>,
    /// Whether the directory has the file after a power failure.
    entry_is_durable: Cell<bool>,
    numbers: Cell<u64>,
    /// What the newest record on the platter allows.
    durable: Cell<[u64; 2]>,
    /// A disk that says it has written what it has not.
    pub(crate) lies: Cell<bool>,
    /// There is no space for more.
    pub(crate) is_full: Cell<bool>,
}

impl Disk {
    fn number(&self) -> u64 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    /// The inode number of the file, or 0.
    pub(crate) fn inode(&self) -> u64 {
        self.file.borrow().as_ref().map_or(0, |inode| inode.number)
    }

    pub(crate) fn open(&self) -> Handle {
        let mut file = self.file.borrow_mut();
        let inode = file.get_or_insert_with(|| {
            self.entry_is_durable.set(false);
            Inode::new(self.number(), Vec::new())
        });
        Handle { inode: inode.clone(), id: self.number() }
    }

    pub(crate) fn try_lock(&self, handle: &Handle) -> bool {
        let locked = &handle.inode.locked;
        if locked.get() == 0 {
            locked.set(handle.id);
        }
        locked.get() == handle.id
    }

    pub(crate) fn write(&self, handle: &Handle, bytes: &[u8], position: usize) -> io::Result<()> {
        let (inode, end) = (&handle.inode, position + bytes.len());
        let sectors = position / SECTOR..end.div_ceil(SECTOR);
        let mut allocated = inode.allocated.borrow_mut();
        if self.is_full.get() && sectors.clone().any(|sector| !allocated.contains(&sector)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut cache = inode.cache.borrow_mut();
        if cache.len() < end {
            cache.resize(end, 0);
        }
        cache[position..end].copy_from_slice(bytes);
        allocated.extend(sectors.clone());
        inode.dirty.borrow_mut().extend(sectors);
        Ok(())
    }

    /// Brings the file to the platter; if it fails, `part` says how much of each sector was written, and the system
    /// forgets that the others were not.
    pub(crate) fn sync(&self, handle: &Handle, part: Option<&dyn Fn(bool) -> usize>) -> io::Result<()> {
        if self.lies.get() {
            return Ok(());
        }
        handle.inode.flush(part.unwrap_or(&|_| SECTOR));
        self.note_durable();
        if part.is_some() {
            return Err(io::Error::other("EIO"));
        }
        handle.inode.is_complete.set(true);
        Ok(())
    }

    pub(crate) fn sync_directory(&self) {
        if !self.lies.get() {
            self.entry_is_durable.set(true);
            self.note_durable();
        }
    }

    fn note_durable(&self) {
        let file = self.file.borrow();
        let platter =
            file.as_ref().filter(|_| self.entry_is_durable.get()).map(|inode| inode.platter.borrow());
        let record = platter.and_then(|platter| newest_record(&platter));
        self.durable.set(record.map_or([0; 2], |(_, marks)| marks));
    }

    /// The marks that survive a power failure.
    pub(crate) fn durable(&self) -> [u64; 2] {
        self.durable.get()
    }

    /// The power fails: `part` says how much of each sector that was not synced is on the platter all the same.
    pub(crate) fn lose_power(&self, part: &dyn Fn(bool) -> usize) {
        let mut file = self.file.borrow_mut();
        if !self.entry_is_durable.get() && part(false) == 0 {
            *file = None;
        } else if let Some(inode) = file.take() {
            inode.flush(part);
            *file = Some(Inode::new(inode.number, inode.platter.take()));
            self.entry_is_durable.set(true);
        }
        drop(file);
        self.note_durable();
    }

    /// What is in the file.
    pub(crate) fn content(&self) -> Option<Vec<u8>> {
        self.file.borrow().as_ref().map(|inode| inode.cache.borrow().clone())
    }

    /// Replaces the file by another with this content, or removes it, as somebody does while the server is down.
    pub(crate) fn replace(&self, content: Option<Vec<u8>>) {
        *self.file.borrow_mut() = content.map(|content| Inode::new(self.number(), content));
        self.entry_is_durable.set(true);
        self.note_durable();
    }
}
