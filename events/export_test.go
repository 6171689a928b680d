package events

// WithoutVersion2 makes the decoder behave as in a build that folds nothing of DESIGN §4.7, until
// done is called.
func WithoutVersion2() (done func()) {
	was := unfolded
	unfolded = parts{hiddenFrom: true, marksRead: true, withThreads: true}
	for _, k := range []Kind{KindChannelUpdated, KindNotifySet, KindFlagSet, KindChannelFiled, KindMessagesHidden, KindLineSet, KindMessagesViewed, KindLabelsSet} {
		unfolded.kinds[k] = true
	}
	return func() { unfolded = was }
}
