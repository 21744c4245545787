//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked: another process has the data directory open.
var ErrLocked = errors.New("data directory is in use")

// lockDir takes the lock of a data directory, which it makes if need be. The
// system drops the lock when the process ends, however it ends.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Join(dir, kafkaDir), 0o755); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("%w: %s is open in another server; stop that one, or give this one a directory of its own", ErrLocked, dir)
	case err != nil:
		err = fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// syncDir puts a folder's names on the disk.
func syncDir(dir string) error { return syncFile(dir) }

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}
