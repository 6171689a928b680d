package obs

import (
	"encoding/json"
	"runtime/debug"
	"testing"
)

func TestBillOfMaterials(t *testing.T) {
	bill := NewBill(Build{Version: "v1.2", Revision: "abc"}, &debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "example.com/app"},
		Deps: []*debug.Module{
			{Path: "example.com/z", Version: "v0.0.0-20260101000000-0123456789ab", Sum: "h1:zzz="},
			{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.1+incompatible", Sum: "h1:fff="}},
		},
		Settings: []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "0"}, {Key: "-ldflags", Value: "-X main.secret=x"}},
	})
	got, err := json.Marshal(bill)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,` +
		`"metadata":{"component":{"type":"application","name":"example.com/app","version":"v1.2","purl":"pkg:golang/example.com/app@v1.2",` +
		`"properties":[{"name":"vcs:revision","value":"abc"},{"name":"go:CGO_ENABLED","value":"0"}]}},` +
		`"components":[` +
		`{"type":"library","name":"example.com/fork","version":"v1.0.1+incompatible","purl":"pkg:golang/example.com/fork@v1.0.1+incompatible","properties":[{"name":"go:sum","value":"h1:fff="}]},` +
		`{"type":"library","name":"example.com/z","version":"v0.0.0-20260101000000-0123456789ab","purl":"pkg:golang/example.com/z@v0.0.0-20260101000000-0123456789ab","properties":[{"name":"go:sum","value":"h1:zzz="}]},` +
		`{"type":"library","name":"stdlib","version":"1.26.8","purl":"pkg:golang/stdlib@1.26.8"}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
