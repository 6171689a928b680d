package client

// The kinds of delivery events.

// Delivered means that a device of the user has the message, or everything up to it.
type Delivered struct {
	MessageID     string `json:"message_id,omitempty"`
	DeviceID      string `json:"device_id,omitempty"`
	UpToMessageID string `json:"up_to_message_id,omitempty"`
}

// Queued means that the user was offline, so no device could show them the message.
type Queued struct {
	MessageID string `json:"message_id,omitempty"`
}

func (Delivered) kind() (of, name string) { return "delivery", "delivered" }
func (Queued) kind() (of, name string)    { return "delivery", "queued" }
