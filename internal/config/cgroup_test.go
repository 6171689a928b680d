package config

import (
	"strings"
	"testing"
	"testing/fstest"
)

func cgroups(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func TestTheCgroupsLimitIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		limit Bytes
		file  string
	}{
		"no Linux":   {nil, 0, ""},
		"no limit":   {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0, ""},
		"no file":    {map[string]string{"proc/self/cgroup": "0::/a/b\n"}, 0, ""},
		"garbage":    {map[string]string{"proc/self/cgroup": "0::/\nx\n", "sys/fs/cgroup/memory.max": "lots\n"}, 0, ""},
		"version 2":  {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2147483648\n"}, 2 << 30, "/sys/fs/cgroup/memory.max"},
		"a parent's": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1073741824\n"}, 1 << 30, "/sys/fs/cgroup/a/memory.max"},
		"the least": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "536870912\n", "sys/fs/cgroup/a/memory.max": "1073741824\n"},
			512 << 20, "/sys/fs/cgroup/a/b/memory.max"},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n"},
			512 << 20, "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		"version 1, none": {map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, ""},
	} {
		if limit, file := CgroupMemory(cgroups(c.files)); limit != c.limit || file != c.file {
			t.Errorf("%s: %s by %q, want %s by %q", name, limit, file, c.limit, c.file)
		}
	}
}

func TestWithoutMemoryTheCgroupDecides(t *testing.T) {
	limit, why := MemoryByDefault(cgroups(map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2147483648\n"}))
	if limit != 1638<<20 || !strings.Contains(why, "80 % of the 2GiB that /sys/fs/cgroup/memory.max allows") {
		t.Errorf("%s, %s", limit, why)
	}
	if limit, why := MemoryByDefault(cgroups(nil)); limit != DefaultMemory || !strings.Contains(why, "no cgroup") {
		t.Errorf("%s, %s", limit, why)
	}
}
