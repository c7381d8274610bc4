/** Why the operating system refuses to use a file or folder, and what to do; by its error code. */
const explanations: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission. Run the command as the user that owns it, or use another folder.',
  EPERM: 'this user is not allowed to change it. Run the command as the user that owns it, or use another folder.',
  EROFS:
    'its file system is read-only. Linux does this after a disk error: see `dmesg`. Mount it read-write again (`mount -o remount,rw`), or use another folder.',
  ENOSPC: 'the disk is full. Free some space and try again; no data was lost.',
  EDQUOT: 'the disk quota is exhausted. Free some space and try again; no data was lost.',
  EFBIG: 'the file is larger than the file system or `ulimit -f` allows.',
  EIO: 'the disk reports an error (see `dmesg`). Replace it before you write to it again.',
  ENOENT: 'the folder does not exist. Create it first.',
  ENOTDIR: 'part of the path is a file, not a folder. Use another folder.',
  EISDIR: 'it is a folder, not a file.',
  EEXIST: 'a file with that name exists. Use another name.',
  ENAMETOOLONG: 'the path is too long. Use a shorter one.',
  EMFILE: 'this process has too many open files. Increase its limit (`ulimit -n`, `LimitNOFILE=` with systemd).',
  ENFILE: 'the machine has too many open files. Increase `fs.file-max` (sysctl).',
}

/** Explains an error of the operating system; undefined for any other error. */
export const explainFileError = (error: unknown): string | undefined =>
  error instanceof Error ? explanations[(error as NodeJS.ErrnoException).code ?? ''] : undefined
