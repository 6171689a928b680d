package events

import (
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
)

// Delivery decodes and validates a value of chat.deliveries into v, whatever v held before. After
// an error v is undefined. Exactly one of MessageID and UpToID is set. device_id, if set, must be a
// valid id.
func (d *Decoder) Delivery(value []byte, recordMillis int64, v *Delivery) error {
	*v = Delivery{}
	c, err := d.start(value, recordMillis, func() proto.Message { return new(eventsv1.DeliveryEvent) })
	if err != nil {
		return err
	}
	var target deliveredTarget
	for c.next() {
		switch c.tag {
		case 1<<3 | wireBytes:
			v.ChannelID = c.text()
		case 2<<3 | wireBytes:
			v.UserID = c.text()
		case 3<<3 | wireBytes:
			d.at.merge(&c)
		case 9<<3 | wireVarint:
			d.minVersion = c.uint32()
		case 10<<3 | wireBytes:
			if v.Kind != KindDelivered {
				v.become(KindDelivered)
				target = deliveredNone
			}
			target = v.delivered(&c, target)
		case 11<<3 | wireBytes:
			if v.Kind != KindQueued {
				v.become(KindQueued)
			}
			v.queued(&c)
		default:
			c.skip()
		}
	}
	if err := d.finish(&c, value, v.Kind, ""); err != nil {
		return err
	}
	return d.checkDelivery(v, target)
}

// deliveredTarget is the member of Delivered's target that is set.
type deliveredTarget uint8

const (
	deliveredNone deliveredTarget = iota
	deliveredOne
	deliveredUpTo
)

// become sets the kind and discards the fields of another kind.
func (v *Delivery) become(k Kind) {
	*v = Delivery{Kind: k, ChannelID: v.ChannelID, UserID: v.UserID}
}

func (v *Delivery) delivered(c *cursor, target deliveredTarget) deliveredTarget {
	sub := c.message()
	for sub.next() {
		switch sub.tag {
		case 1<<3 | wireBytes:
			target, v.MessageID, v.UpToID = deliveredOne, sub.text(), nil
		case 2<<3 | wireBytes:
			target, v.MessageID, v.UpToID = deliveredUpTo, nil, sub.text()
		case 3<<3 | wireBytes:
			v.DeviceID = sub.text()
		default:
			sub.skip()
		}
	}
	c.done(&sub)
	return target
}

func (v *Delivery) queued(c *cursor) {
	sub := c.message()
	for sub.next() {
		if sub.tag == 1<<3|wireBytes {
			v.MessageID = sub.text()
		} else {
			sub.skip()
		}
	}
	c.done(&sub)
}

func (d *Decoder) checkDelivery(v *Delivery, target deliveredTarget) error {
	if !ValidID(v.ChannelID) {
		return invalidID("channel_id", v.ChannelID)
	}
	if !ValidID(v.UserID) {
		return invalidID("user_id", v.UserID)
	}
	var err error
	if v.OccurredAt, err = d.clock.read(&d.at, "occurred_at"); err != nil {
		return err
	}
	switch {
	case v.Kind == KindQueued:
		err = required("queued.message_id", v.MessageID)
	case target == deliveredOne:
		err = required("delivered.message_id", v.MessageID)
	case target == deliveredUpTo:
		err = required("delivered.up_to_message_id", v.UpToID)
	default:
		err = &Error{Reason: ReasonNoTarget, Field: "delivered", Detail: "its target is not set"}
	}
	if err == nil {
		err = optional("delivered.device_id", v.DeviceID)
	}
	v.ClockReplaced = d.clock.replaced
	return err
}
