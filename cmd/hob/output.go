package main

import (
	"os"
	"sync"
)

// output is standard output that remembers a failed write, so that a list which
// a full disk cut off does not look whole.
type output struct {
	*os.File

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.File.Write(b)
	return n, o.note(err)
}

// WriteString implements io.StringWriter.
func (o *output) WriteString(s string) (int, error) {
	n, err := o.File.WriteString(s)
	return n, o.note(err)
}

func (o *output) note(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	return err
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
