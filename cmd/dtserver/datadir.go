package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/uuid"
)

// dataDir is the locked data folder. Its lock goes with the process, however
// that ends.
type dataDir struct {
	path     string
	instance string // uuid of this server, for ever
	lock     *os.File
}

// dataFormat is the layout of the data folder that this server writes.
const dataFormat = 1

// serverFile says whose folder it is; server.json in the data folder.
type serverFile struct {
	Format   int    `json:"format"`
	Instance string `json:"instance"`
}

func (d *dataDir) log() string   { return filepath.Join(d.path, "log") }
func (d *dataDir) cache() string { return filepath.Join(d.path, "cache") }
func (d *dataDir) spool() string { return filepath.Join(d.path, "spool") }

// openData makes the data folder if need be, locks it and reads whose it is.
// What a killed server left in the spool is removed.
func openData(path string) (*dataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("data folder %s cannot be made: %w; choose another with --data", path, err)
	}
	d := &dataDir{path: path}
	d.lock, err = os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("data folder %s cannot be written: %w; make it writable or choose another with --data", path, err)
	}
	err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("data folder %s is in use by another server; stop that one, or choose another folder with --data", path)
	case err != nil:
		err = fmt.Errorf("data folder %s cannot be locked: %w", path, err)
	default:
		err = d.identify()
	}
	if err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	return d, nil
}

// identify reads server.json or, in a new folder, writes it.
func (d *dataDir) identify() error {
	name := filepath.Join(d.path, "server.json")
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		d.instance = uuid.NewString()
		return d.sign(name)
	}
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	var f serverFile
	if err := json.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("data folder: %s is damaged: %w; if the folder is a copy, take the file from the original", name, err)
	}
	if f.Format > dataFormat {
		return fmt.Errorf("data folder %s was written by a newer dtserver (format %d, this one knows %d); start that version or a later one", d.path, f.Format, dataFormat)
	}
	if _, err := uuid.Parse(f.Instance); err != nil {
		return fmt.Errorf("data folder: %s names no instance: %w", name, err)
	}
	d.instance = f.Instance
	// Only a folder that is known to be ours is cleaned.
	if err := os.RemoveAll(d.spool()); err != nil {
		return fmt.Errorf("clean the spool: %w", err)
	}
	return nil
}

// sign writes server.json, whole or not at all.
func (d *dataDir) sign(name string) error {
	text, err := json.Marshal(serverFile{Format: dataFormat, Instance: d.instance})
	if err != nil {
		return err
	}
	tmp := name + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return fmt.Errorf("data folder %s cannot be written: %w; make it writable or choose another with --data", d.path, err)
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("data folder: write %s: %w", tmp, err)
	}
	if err := os.Rename(tmp, name); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	dir, err := os.Open(d.path)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// close lets the folder go.
func (d *dataDir) close() error { return d.lock.Close() }
