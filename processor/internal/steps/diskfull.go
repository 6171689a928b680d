package steps

// checkDisk stops folding while writes of the store wait for disk space.
func (w *Worker) checkDisk() {
	err := w.Fold.Full()
	if (err != nil) == w.diskFull || w.Home.Space.GaveUp() {
		return
	}
	w.diskFull = err != nil
	w.Inbox.PauseAll(w.diskFull)
	if w.diskFull {
		w.Home.Space.Note(err)
		w.log.Error("partition stops folding: the disk is full; it still answers queries, and continues by itself once there is "+
			"room", "partition", w.Number, "err", err)
	} else {
		w.Home.Space.Note(nil)
		w.log.Info("the disk has room again: partition continues folding", "partition", w.Number)
	}
}
