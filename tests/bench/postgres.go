package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres is a PostgreSQL of the system, in a folder of its own.
type postgres struct {
	port int
	cmd  *exec.Cmd
}

// settings that matter: the durability is PostgreSQL's default; memory is what
// a careful administrator of this machine gives it.
var postgresSettings = []string{"fsync=on", "synchronous_commit=on", "full_page_writes=on", "shared_buffers=1GB", "max_wal_size=8GB", "max_connections=200", "work_mem=64MB"}

// postgresPrograms finds the folder with initdb and postgres, the newest first.
func postgresPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) > 0 {
		slices.Sort(found)
		return filepath.Dir(found[len(found)-1]), nil
	}
	name, err := exec.LookPath("postgres")
	if err != nil {
		return "", errors.New("PostgreSQL is not installed: apt-get install postgresql")
	}
	return filepath.Dir(name), nil
}

// credential is whom PostgreSQL runs as: it refuses root.
func credential() (*syscall.SysProcAttr, int, error) {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if os.Getuid() != 0 {
		return attr, -1, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, 0, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, uid, nil
}

func startPostgres(ctx context.Context, dir string) (*postgres, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	attr, uid, err := credential()
	if err != nil {
		return nil, err
	}
	if uid >= 0 {
		if err := os.Chown(dir, uid, -1); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "-D", data, "-A", "trust", "-U", "bench", "-E", "UTF8", "--locale=C")
	initdb.Dir, initdb.SysProcAttr = dir, attr
	if text, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, text)
	}
	p := &postgres{}
	if p.port, err = freePort(); err != nil {
		return nil, err
	}
	args := []string{"-D", data, "-p", strconv.Itoa(p.port), "-h", "127.0.0.1", "-k", dir}
	for _, s := range postgresSettings {
		args = append(args, "-c", s)
	}
	p.cmd = exec.Command(filepath.Join(programs, "postgres"), args...)
	p.cmd.Dir, p.cmd.SysProcAttr = dir, attr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(time.Minute); ; {
		conn, err := pgx.Connect(ctx, p.url())
		if err == nil {
			return p, conn.Close(ctx)
		}
		if time.Now().After(end) {
			p.stop()
			return nil, fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (p *postgres) url() string {
	return fmt.Sprintf("postgres://bench@127.0.0.1:%d/postgres?sslmode=disable", p.port)
}

func (p *postgres) pid() int { return p.cmd.Process.Pid }

// stop ends it at once: nobody needs its data any more.
func (p *postgres) stop() {
	p.cmd.Process.Signal(syscall.SIGQUIT)
	p.cmd.Wait()
}
