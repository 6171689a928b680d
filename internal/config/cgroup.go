package config

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// CgroupMemory returns the lowest memory limit of this process's cgroup (version 1 or 2) and those
// above it, and the file that has it; 0 without a limit. root is the file system: os.DirFS("/").
func CgroupMemory(root fs.FS) (limit Bytes, file string) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, "" // the system is not Linux
	}
	for _, line := range strings.Split(string(groups), "\n") {
		parts := strings.SplitN(line, ":", 3) // number, controllers, path
		if len(parts) < 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			limit, file = leastLimit(root, "sys/fs/cgroup", parts[2], "memory.max", limit, file)
		case hasController(parts[1], "memory"):
			limit, file = leastLimit(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes", limit, file)
		}
	}
	return limit, file
}

func hasController(list, name string) bool {
	for _, c := range strings.Split(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

// unlimited is the smallest value that means no limit in version 1, where the kernel writes the
// largest number of whole pages.
const unlimited = 1 << 60

// leastLimit reads the limit of a group and of all groups above it. In a container, only the end of
// the path may exist, because groups are mounted from its own on.
func leastLimit(root fs.FS, mount, group, name string, least Bytes, from string) (Bytes, string) {
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		file := path.Join(mount, dir, name)
		if text, err := fs.ReadFile(root, file); err == nil {
			n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" means no limit
			if err == nil && n > 0 && n < unlimited && (least == 0 || Bytes(n) < least) {
				least, from = Bytes(n), "/"+file
			}
		}
		if dir == "/" {
			return least, from
		}
	}
}

// DefaultMemory is the limit of a node without one.
const DefaultMemory Bytes = 1 << 30

// MemoryByDefault returns the limit of a process without --memory, and a text that explains it. It
// is 80 % of the cgroup's limit, because the kernel kills a process beyond that limit and counts
// more memory than the shares do; without a cgroup it is DefaultMemory.
func MemoryByDefault(root fs.FS) (limit Bytes, why string) {
	allowed, file := CgroupMemory(root)
	if allowed == 0 {
		return DefaultMemory, "no cgroup limits this process, and --memory is not set"
	}
	limit = allowed / 5 * 4 >> 20 << 20
	return limit, "80 % of the " + allowed.String() + " that " + file + " allows; --memory is not set"
}
