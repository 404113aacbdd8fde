# SPDX-License-Identifier: GPL-3.0-or-later
"""--files-from: what a list names is taken, and what it names in vain is said."""
from local_storage import DESTINATION
from comparing import check_counts
from manifest import Manifest

PICTURES = 'Users\\Anna\\Pictures\\Summer\\'


def sent(storage):
    manifest = Manifest(storage.bucket(), 'p')
    return {line['path'] for line in manifest.lines if line['state'] == 'uploaded'}, manifest


def write(tmp_path, text, encoding='utf-8'):
    path = tmp_path / 'list'
    path.write_bytes(text.encode(encoding))
    return path


def test_list_of_powershell(winch, storage, images, tmp_path):
    """UTF-16, drive letters, backslashes, CRLF; without regard to case; a folder: all below."""
    paths = write(tmp_path, 'D:\\%sIMG_2001.png\r\nd:\\users\\public\r\n' % PICTURES, 'utf-16')
    result = winch.migrate(storage, images.get('demo'), DESTINATION, '--files-from', paths)
    paths, manifest = sent(storage)
    public = {path for path in paths if path.startswith('Users/Public/')}
    everything = {line['path'] for line in manifest.lines
                  if line['path'].startswith('Users/Public/')}
    assert paths - public == {PICTURES.replace('\\', '/') + 'IMG_2001.png'}
    assert len(public) == 3 and not [line for line in manifest.lines if line['path'] in everything
                                    and line['state'] == 'excluded']
    check_counts(result, manifest)
    assert result.json['paths_not_found'] == 0


def test_missing_paths_are_named(winch, storage, images, tmp_path):
    """Exit code 3, the first ten by name, all counted; what is there has been sent."""
    paths = write(tmp_path, 'Users/Public\n' + ''.join('gone/%d\x1b[2J\n' % i for i in range(25)))
    result = winch.migrate(storage, images.get('demo'), DESTINATION, '--files-from', paths,
                           expect=3)
    assert result.json['paths_not_found'] == 25 and result.json['failed'] == 0
    warnings = result.json['warnings']
    assert len([w for w in warnings if 'not on the disk' in w]) == 11, warnings
    assert any(w.startswith('15 more paths') for w in warnings), warnings
    assert '\x1b' not in result.err
    assert len(sent(storage)[0]) == 3
    words = winch.run(winch.migrate_command(images.get('demo'), DESTINATION, '--files-from', paths,
                                            as_json=False), storage)
    assert words.exit == 3 and '25 paths of the list could not be found' in words.out, str(words)


def test_dry_run_says_it_too(winch, storage, images, tmp_path):
    paths = write(tmp_path, 'Users/Public\nUsers/Publik\n')
    result = winch.migrate(storage, images.get('demo'), DESTINATION, '--files-from', paths,
                           '--dry-run', expect=3)
    assert result.json['paths_not_found'] == 1, result.json
    assert storage.stats()['requests'] == 0 or storage.bucket().list() == {}


def test_other_list_is_another_run(winch, start_storage, images, tmp_path):
    """An unfinished run is continued with the same list only, whatever its order."""
    storage = start_storage('--latency-ms', '300')
    one = write(tmp_path, 'Users/Public\nUsers/Anna\n')
    running = winch.start(storage, images.get('demo'), DESTINATION, '--files-from', one,
                          '--connections', '1')
    assert storage.wait_until(lambda s: s['inserts'] >= 3, 60, running.alive)
    assert running.kill()
    other = tmp_path / 'other'
    other.write_text('Users/Public\n')
    result = winch.migrate(storage, images.get('demo'), DESTINATION, '--files-from', other)
    assert result.json['resumed'] is False
    other.write_text('users\\anna\nC:\\Users\\Public\\\n')
    result = winch.migrate(storage, images.get('demo'), DESTINATION, '--files-from', other)
    assert result.json['resumed'] is True
