package imessage

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// notice tells that Messages has written: its database's log is watched, and nothing
// else. Watching the folder, or the database, would open and close the database on
// macOS, which takes away SQLite's locks on it.
type notice struct {
	log     string
	fs      *fsnotify.Watcher // nil: nobody tells
	watched bool
	told    chan struct{} // holds one, however much was told
	reading sync.WaitGroup
}

func (n *notice) open(c *Channel) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		c.deps.Log.Info("watching the database failed; polling for new messages", "channel", Name, "error", err)
		return
	}
	n.log, n.fs, n.told = c.cfg.DB+"-wal", fs, make(chan struct{}, 1)
	n.reading.Go(n.read)
}

// read takes what fsnotify tells until it is closed: it may hold its own lock meanwhile.
func (n *notice) read() {
	for events, errs := n.fs.Events, n.fs.Errors; events != nil || errs != nil; {
		var more bool
		select {
		case _, more = <-events:
			if !more {
				events = nil
			}
		case _, more = <-errs: // something was not told
			if !more {
				errs = nil
			}
		}
		if more {
			n.tell()
		}
	}
}

func (n *notice) tell() {
	select {
	case n.told <- struct{}{}:
	default:
	}
}

func (n *notice) close() {
	if n.fs != nil {
		_ = n.fs.Close()
		n.reading.Wait()
	}
}

// watch begins to watch the log, if there is one. It is tried again with each look.
func (n *notice) watch() {
	if n.fs != nil && !n.watched {
		n.watched = n.fs.Add(n.log) == nil
	}
}

// drop ends the watching.
func (n *notice) drop() {
	if n.watched {
		_ = n.fs.Remove(n.log) // mostly it is gone already
	}
	n.watched = false
}
