package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/tidemark/tidemark/internal/config"
)

// memory checks that the limit can be divided into shares, and that the machine allows it.
func (c *Config) memory(r *Report, partitions int32) {
	limit := c.Node.Memory
	if limit == 0 {
		r.OK("memory", "no limit")
		return
	}
	m, err := config.PlanMemory(limit, partitions)
	if err != nil {
		r.Failed("memory", err.Error(), "raise --memory")
		return
	}
	if allowed, file := config.CgroupMemory(os.DirFS("/")); allowed > 0 && limit > allowed {
		r.Failed("memory", fmt.Sprintf("the limit of %s is above the %s that %s allows: the kernel would kill the node", limit, allowed, file),
			"lower --memory to 80 % of that, or leave it out")
		return
	}
	r.OK("memory", m.String())
}

// dataDir checks that the directory, or the nearest one above it that exists, can be written.
func (c *Config) dataDir(r *Report) {
	dir, err := filepath.Abs(c.Node.DataDir)
	if err != nil {
		r.Failed("data directory", err.Error(), "set --data-dir")
		return
	}
	exists := dir
	for {
		info, err := os.Stat(exists)
		if err == nil && !info.IsDir() {
			r.Failed("data directory", exists+" is a file", "set --data-dir to a directory")
			return
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) || exists == filepath.Dir(exists) {
			break
		}
		exists = filepath.Dir(exists)
	}
	f, err := os.CreateTemp(exists, ".tidemark-check-*")
	if err == nil {
		_, err = f.WriteString("written by tidemark config check\n")
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		r.Failed("data directory", err.Error(), "give the user of the node the right to write there, or free space, or set --data-dir")
		return
	}
	found := dir + " can be written"
	if exists != dir {
		found = dir + " can be made in " + exists
	}
	r.OK("data directory", found)
}

// listeners checks that the addresses are free.
func (c *Config) listeners(r *Report) {
	for _, l := range []struct{ flag, address string }{{"--listen", c.Listen}, {"--admin-listen", c.AdminListen}} {
		if l.address == "" {
			continue
		}
		ln, err := net.Listen("tcp", l.address)
		if err != nil {
			r.Failed("listener", fmt.Sprintf("%s: %v", l.flag, err), "name another address with "+l.flag+"; or if this node already runs, stop it first")
			continue
		}
		_ = ln.Close() // it was never used
		r.OK("listener", fmt.Sprintf("%s %s is free", l.flag, l.address))
	}
}
