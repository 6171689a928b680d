package snapshot_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// reseal changes a manifest and corrects its hash, as only its writer does.
func reseal(data []byte, old, new string) []byte {
	mid := []byte(`","manifest":`)
	i := bytes.Index(data, mid) + len(mid)
	body := bytes.Replace(data[i:len(data)-2], []byte(old), []byte(new), 1)
	sum := sha256.Sum256(body)
	out := append([]byte(`{"sha256":"`+hex.EncodeToString(sum[:])), mid...)
	return append(append(out, body...), "}\n"...)
}
