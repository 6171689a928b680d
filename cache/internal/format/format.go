// Package format has the choices of --redis-values and --redis-keys, and their name in Redis: the
// ids of fillings and tidemark:epoch begin with it.
//
//	format.go  the choice, its flags and its name
package format

import (
	"fmt"
	"strings"
)

// plain is the name of the format of JSON values and all keys. A Redis with another format was
// filled by another version or with other flags: its keys or values have other forms, or that
// version interpreted deltas differently.
const plain = "4/"

// other is the beginning of the name of any other format; values, families and a slash follow.
const other = "5:"

// Values of --redis-values.
const (
	JSON   = "json"
	Packed = "packed"
)

// Families of keys, those of --redis-keys.
const (
	inbox    = "inbox"
	pointers = "pointers"
	channels = "channels"
	threads  = "threads"
)

// Families are the families of keys, in the order of their names in Redis.
var Families = []string{inbox, pointers, channels, threads}

// Format describes how Redis is filled. The zero Format has JSON values and all keys.
type Format struct {
	Packed bool
	// The families that are left out. NoPointers: read-pointer and thread-read; NoChannels:
	// channel-latest and channel-stamp; NoThreads: inbox-threads and thread-read.
	NoPointers, NoChannels, NoThreads bool
}

// Of returns the format of two flags. Empty ones are the default. It refuses a list without inbox.
func Of(values string, keys []string) (f Format, err error) {
	switch values {
	case "", JSON:
	case Packed:
		f.Packed = true
	default:
		return f, fmt.Errorf("values %q: they are %s or %s", values, JSON, Packed)
	}
	if len(keys) == 0 {
		return f, nil
	}
	f.NoPointers, f.NoChannels, f.NoThreads = true, true, true
	hasInbox := false
	for _, k := range keys {
		switch k {
		case inbox:
			hasInbox = true
		case pointers:
			f.NoPointers = false
		case channels:
			f.NoChannels = false
		case threads:
			f.NoThreads = false
		default:
			return f, fmt.Errorf("there are no keys %q: name some of %s", k, strings.Join(Families, ", "))
		}
	}
	if !hasInbox {
		return f, fmt.Errorf("%s cannot be left out: the cache compares stamps with those in it", inbox)
	}
	return f, nil
}

// has reports whether the format has a family.
func (f Format) has(family string) bool {
	switch family {
	case pointers:
		return !f.NoPointers
	case channels:
		return !f.NoChannels
	case threads:
		return !f.NoThreads
	}
	return true
}

// Without returns the families that are left out.
func (f Format) Without() (list []string) {
	for _, family := range Families {
		if !f.has(family) {
			list = append(list, family)
		}
	}
	return list
}

// Values returns the flag --redis-values.
func (f Format) Values() string {
	if f.Packed {
		return Packed
	}
	return JSON
}

// Keys returns the flag --redis-keys.
func (f Format) Keys() string {
	var list []string
	for _, family := range Families {
		if f.has(family) {
			list = append(list, family)
		}
	}
	return strings.Join(list, ",")
}

// String returns the name of f in Redis, which ends with a slash.
func (f Format) String() string {
	if f == (Format{}) {
		return plain
	}
	return other + f.Values() + ":" + f.Keys() + "/"
}

// Parse returns the format with which an epoch begins. ok is false if this build does not support
// it.
func Parse(epoch string) (f Format, ok bool) {
	name, _, found := strings.Cut(epoch, "/")
	if !found {
		return f, false
	}
	if name += "/"; name == plain {
		return f, true
	}
	values, keys, found := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, other), "/"), ":")
	if !found {
		return f, false
	}
	f, err := Of(values, strings.Split(keys, ","))
	return f, err == nil && f.String() == name
}
