package keys

import "testing"

// TestKinds: each kind has a name of its own, and the keys of its records lead to it.
func TestKinds(t *testing.T) {
	names := map[string]bool{}
	for i, k := range Kinds {
		key := append([]byte{k.top}, "c\x00"...)
		if k.hot != 0 {
			key = append(key, k.hot, 'u')
		}
		if got := KindOf(key); got != i || names[k.Name] {
			t.Errorf("%q is found at %d, want %d, or is named twice", k.Name, got, i)
		}
		names[k.Name] = true
	}
	for _, key := range []string{"X", "C", "Cc", "Cc\x00", "Cc\x00?", "H", "K12345678"} {
		if i := KindOf([]byte(key)); i >= 0 {
			t.Errorf("%q is taken for %q", key, Kinds[i].Name)
		}
	}
}
