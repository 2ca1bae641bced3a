//! A disk with a page cache and a platter, and one file on it.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    io,
    rc::Rc,
};

use sno_core::{Tick, record::Record};

const SECTOR: usize = 512;

/// A file: what processes read, what survives a power failure, and which sectors differ as far as the system knows.
pub(crate) struct Inode {
    pub(crate) number: u64,
    pub(crate) cache: RefCell<Vec<u8>>,
    platter: RefCell<Vec<u8>>,
    dirty: RefCell<BTreeSet<usize>>,
    /// The handle that has locked it.
    locked: Cell<u64>,
}

impl Inode {
    /// A file with this content, on the platter.
    fn new(number: u64, content: Vec<u8>) -> Rc<Self> {
        let (cache, platter) = (RefCell::new(content.clone()), RefCell::new(content));
        Rc::new(Self { number, cache, platter, dirty: RefCell::default(), locked: Cell::new(0) })
    }

    fn flush(&self, sector: usize) {
        let (cache, mut platter) = (self.cache.borrow(), self.platter.borrow_mut());
        let bytes = sector * SECTOR..((sector + 1) * SECTOR).min(cache.len());
        if platter.len() < bytes.end {
            platter.resize(bytes.end, 0);
        }
        platter[bytes.clone()].copy_from_slice(&cache[bytes]);
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
}

impl Disk {
    fn number(&self) -> u64 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
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

    pub(crate) fn write(&self, handle: &Handle, bytes: &[u8], position: usize) {
        let (inode, end) = (&handle.inode, position + bytes.len());
        let mut cache = inode.cache.borrow_mut();
        if cache.len() < end {
            cache.resize(end, 0);
        }
        cache[position..end].copy_from_slice(bytes);
        inode.dirty.borrow_mut().extend(position / SECTOR..end.div_ceil(SECTOR));
    }

    /// Brings the file to the platter; if it fails, `kept` says which sectors were written, and the system forgets that
    /// the others were not.
    pub(crate) fn sync(&self, handle: &Handle, kept: Option<&dyn Fn() -> bool>) -> io::Result<()> {
        if self.lies.get() {
            return Ok(());
        }
        let dirty = handle.inode.dirty.take();
        dirty
            .iter()
            .filter(|_| kept.is_none_or(|kept| kept()))
            .for_each(|sector| handle.inode.flush(*sector));
        self.note_durable();
        if kept.is_none() { Ok(()) } else { Err(io::Error::other("EIO")) }
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
        let record = platter.and_then(|platter| Record::<Tick>::newest(&platter));
        self.durable.set(record.map_or([0; 2], |record| record.limits.map(Tick::get)));
    }

    /// The marks that survive a power failure.
    pub(crate) fn durable(&self) -> [u64; 2] {
        self.durable.get()
    }

    /// The power fails: of what was not synced, `kept` says what is on the platter all the same.
    pub(crate) fn lose_power(&self, kept: &dyn Fn() -> bool) {
        let mut file = self.file.borrow_mut();
        if !self.entry_is_durable.get() && !kept() {
            *file = None;
        } else if let Some(inode) = file.take() {
            inode.dirty.take().iter().filter(|_| kept()).for_each(|sector| inode.flush(*sector));
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
