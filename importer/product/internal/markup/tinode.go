package markup

import "encoding/json"

// TinodeText returns the text of a content: a JSON string, or an object with formatting beside it.
func TinodeText(content string) string {
	var text string
	if json.Unmarshal([]byte(content), &text) == nil {
		return text
	}
	var formatted struct{ Txt string }
	_ = json.Unmarshal([]byte(content), &formatted) // other contents have no text
	return formatted.Txt
}
