package loading

import "testing"

// TestList: a list has copies of its records, in order, from the first one again.
func TestList(t *testing.T) {
	var l List
	if l.First() || l.Len() != 0 {
		t.Error("an empty list has a record")
	}
	key, val := []byte("k1"), []byte("one")
	l.Add(key, val)
	l.Add([]byte("k2"), nil)
	l.Add([]byte("k3"), []byte("three"))
	copy(key, "xx")
	copy(val, "xxx")
	for range 2 {
		got := ""
		for ok := l.First(); ok; ok = l.Next() {
			got += string(l.Key()) + "=" + string(l.Value()) + " "
		}
		if got != "k1=one k2= k3=three " {
			t.Errorf("it has %q", got)
		}
	}
	if l.Valid() || l.Error() != nil || l.Close() != nil {
		t.Error("after the last record it is valid")
	}
}
