package embedded

import (
	"os"
	"syscall"
)

// datasync puts a file's bytes on the disk, and of its metadata what is
// needed to read them: its length.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync "+f.Name(), err)
		}
	}
}
