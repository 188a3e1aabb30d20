package imessage

import (
	"github.com/fsnotify/fsnotify"
)

// notice tells that Messages has written: its database's log is watched, and nothing
// else. Watching the folder, or the database, would open and close the database on
// macOS, which takes away SQLite's locks on it.
type notice struct {
	log     string
	fs      *fsnotify.Watcher
	watched bool
	events  <-chan fsnotify.Event // nil, as errors: nobody tells
	errors  <-chan error
}

func (n *notice) open(c *Channel) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		c.deps.Log.Info("new messages are only looked for from time to time", "channel", Name, "error", err)
		return
	}
	n.log, n.fs, n.events, n.errors = c.cfg.DB+"-wal", fs, fs.Events, fs.Errors
}

func (n *notice) close() {
	if n.fs != nil {
		_ = n.fs.Close()
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

// drain drops what has been told: one look is enough for all of it.
func (n *notice) drain() {
	for {
		select {
		case <-n.events:
		case _, more := <-n.errors:
			if !more {
				return
			}
		default:
			return
		}
	}
}
