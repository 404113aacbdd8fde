# SPDX-License-Identifier: GPL-3.0-or-later
"""Make, mount and change NTFS volumes in image files, with mkntfs and ntfs-3g."""
import os
import subprocess
import tempfile
import time

MOUNT_WAIT_SECONDS = 20
WINDOWS_STREAMS = 'streams_interface=windows,compression'


class CannotMake(Exception):
    """What is missing on this machine, as a sentence."""


def why_no_mount():
    """None when volumes can be mounted here, else the reason, fit for a skip."""
    if os.geteuid() != 0:
        return 'making images needs root'
    try:
        os.close(os.open('/dev/fuse', os.O_RDWR))
    except OSError as error:
        return 'making images needs /dev/fuse: %s' % error.strerror
    for program in ('mkntfs', 'ntfs-3g'):
        if not find_program(program):
            return 'making images needs %s' % program
    return None


def find_program(name):
    for folder in os.environ.get('PATH', '').split(':') + ['/usr/sbin', '/sbin', '/usr/bin']:
        path = os.path.join(folder, name)
        if folder and os.access(path, os.X_OK):
            return path
    return None


def run(*command):
    """Run a tool; its output is shown only when it fails."""
    path = find_program(command[0])
    if path is None:
        raise CannotMake('%s is not installed' % command[0])
    done = subprocess.run([path, *map(str, command[1:])], check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise CannotMake('%s failed: %s' % (' '.join(map(str, command)),
                                            done.stdout.decode(errors='replace').strip()))
    return done.stdout


def make_volume(image, size_bytes, label, cluster=4096, sector=512, first_sector=0, options=()):
    """A new empty volume in a sparse file."""
    with open(image, 'wb') as stream:
        stream.truncate(size_bytes)
    run('mkntfs', '-F', '-Q', '-q', '-s', sector, '-c', cluster, '-L', label,
        '-p', first_sector, '-H', 255, '-S', 63, *options, image)


class Mounted:
    """A volume mounted for writing: `with Mounted(image) as root`.

    ntfs-3g stays in the foreground, so that leaving waits until it has written everything.
    """

    def __init__(self, image, options=WINDOWS_STREAMS):
        self.image = image
        self.options = options
        self.root = None
        self.process = None

    def __enter__(self):
        self.root = tempfile.mkdtemp(prefix='winch-mount-')
        log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [find_program('ntfs-3g'), '-o', 'no_detach,' + self.options, self.image, self.root],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        limit = time.monotonic() + MOUNT_WAIT_SECONDS
        while not os.path.ismount(self.root):
            if self.process.poll() is not None or time.monotonic() > limit:
                log.seek(0)
                text = log.read().decode(errors='replace').strip()
                if self.process.poll() is None:
                    self.process.kill()
                    self.process.wait()
                os.rmdir(self.root)
                raise CannotMake('cannot mount %s: %s' % (self.image, text))
            time.sleep(0.005)
        return os.fsencode(self.root)

    def __exit__(self, kind, value, trace):
        run('umount', self.root)
        self.process.wait(timeout=120)
        os.rmdir(self.root)


def change_file(image, path, data):
    """Replace the content of one file of a bare volume: what a user does between two snapshots."""
    with Mounted(image) as root:
        with open(os.path.join(root, os.fsencode(path)), 'r+b') as stream:
            stream.write(data)
            stream.truncate(len(data))


def copy_sparse(source, target, target_offset=0, source_offset=0, length=None):
    """Copy the data of `source` into `target`, keeping holes. The target is not truncated."""
    with open(source, 'rb') as reader:
        end = os.fstat(reader.fileno()).st_size
        if length is not None:
            end = min(end, source_offset + length)
        with open(target, 'r+b' if os.path.exists(target) else 'w+b') as writer:
            position = source_offset
            while position < end:
                try:
                    data = os.lseek(reader.fileno(), position, os.SEEK_DATA)
                except OSError:
                    break
                hole = min(os.lseek(reader.fileno(), data, os.SEEK_HOLE), end)
                copy_range(reader, writer, data, hole, target_offset - source_offset)
                position = max(hole, data)
            size = target_offset + end - source_offset
            if os.fstat(writer.fileno()).st_size < size:
                writer.truncate(size)


def copy_range(reader, writer, first, end, shift):
    while first < end:
        block = os.pread(reader.fileno(), min(4 << 20, end - first), first)
        if not block:
            return
        if block.count(0) != len(block):
            os.pwrite(writer.fileno(), block, first + shift)
        first += len(block)
