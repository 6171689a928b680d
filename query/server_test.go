package query

import "testing"

func TestCheckListen(t *testing.T) {
	for _, c := range []struct {
		addr           string
		insecure, want bool
	}{
		{"127.0.0.1:8080", false, true},
		{"127.9.9.9:0", false, true},
		{"[::1]:8080", false, true},
		{"localhost:8080", false, true},
		{":8080", false, false},
		{"0.0.0.0:8080", false, false},
		{"[::]:8080", false, false},
		{"10.0.0.1:8080", false, false},
		{"example.org:8080", false, false},
		{"localhost.example.org:80", false, false},
		{":8080", true, true},
		{"10.0.0.1:8080", true, true},
		{"8080", true, false},
		{"127.0.0.1", false, false},
		{"127.0.0.1:", false, false},
		{"", false, false},
	} {
		if err := CheckListen(c.addr, c.insecure); (err == nil) != c.want {
			t.Errorf("CheckListen(%q, %v) = %v", c.addr, c.insecure, err)
		}
	}
}
