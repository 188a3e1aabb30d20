package imessage

import (
	"sync"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
)

// logWatcher signals writes by Messages. It watches only the database log. Watching the folder or
// the database would open and close the database on macOS, which releases SQLite's locks on it.
type logWatcher struct {
	log     string
	fs      *fsnotify.Watcher // nil if the log is only polled
	watched atomic.Bool
	told    chan struct{} // holds at most one signal
	reading sync.WaitGroup
}

func (n *logWatcher) openWatcher(c *Channel) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		c.deps.Log.Info("watching the database failed; polling for new messages", "channel", Name, "error", err)
		return
	}
	n.log, n.fs, n.told = c.cfg.DB+"-wal", fs, make(chan struct{}, 1)
	n.reading.Go(n.readEvents)
}

// readEvents drains the event channel until the watcher is closed, because fsnotify may hold its
// lock until an event is read.
func (n *logWatcher) readEvents() {
	for events, errs := n.fs.Events, n.fs.Errors; events != nil || errs != nil; {
		var more bool
		var e fsnotify.Event
		select {
		case e, more = <-events:
			if !more {
				events = nil
			}
			if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) { // a new log is a different file
				n.watched.Store(false)
			}
		case _, more = <-errs: // some events were lost
			if !more {
				errs = nil
			}
		}
		if more {
			n.signalChange()
		}
	}
}

func (n *logWatcher) signalChange() {
	select {
	case n.told <- struct{}{}:
	default:
	}
}

func (n *logWatcher) closeWatcher() {
	if n.fs != nil {
		_ = n.fs.Close()
		n.reading.Wait()
	}
}

// watchLog starts to watch the log if it exists. Each check retries this.
func (n *logWatcher) watchLog() {
	if n.fs != nil && !n.watched.Load() {
		n.watched.Store(n.fs.Add(n.log) == nil)
	}
}

// unwatchLog stops watching the log.
func (n *logWatcher) unwatchLog() {
	if n.watched.Swap(false) {
		_ = n.fs.Remove(n.log) // usually already removed
	}
}
