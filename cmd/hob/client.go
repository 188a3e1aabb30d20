package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"hob/channels/web"
	"hob/channels/web/apiclient"
)

// client gives one command access to the API of the daemon or of an engine in this process.
type client struct {
	*apiclient.Client

	pid    int // process id of the daemon; 0 if the engine runs in this process
	finish func() error
}

// closeEngine closes an engine in this process.
func (c *client) closeEngine() error {
	if c.finish == nil {
		return nil
	}
	return c.finish()
}

// checkReady reports whether the daemon accepts messages.
func (c *client) checkReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return c.Ready(ctx)
}

// failureIn returns the failure in an error. It also converts API errors: a lost connection means
// that Hob is not running, and the status of a rejected request shows whether the request was
// denied.
func failureIn(err error) (*failure, bool) {
	if f, ok := errors.AsType[*failure](err); ok {
		return f, true
	}
	if e, ok := errors.AsType[*apiclient.ConnectionError](err); ok {
		return &failure{code: exitNotRunning, cause: e.Error(), remedy: "check it with: hob status", err: err}, true
	}
	e, ok := errors.AsType[*apiclient.ResponseError](err)
	if !ok {
		return nil, false
	}
	f := &failure{code: exitFailed, cause: e.Message, remedy: e.Remedy, err: err}
	if e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized {
		f.code = exitDenied
	}
	return f, true
}

// parseDays parses the flags since and until. Each is a day, a time, or "" for none.
func parseDays(since, until string) (from, to time.Time, err error) {
	for _, x := range []struct {
		name, text string
		to         *time.Time
	}{{"since", since, &from}, {"until", until, &to}} {
		if x.text == "" {
			continue
		}
		if *x.to, err = web.ParseTimestamp(x.name, x.text); err != nil {
			return from, to, &failure{code: exitFailed, cause: err.Error()}
		}
	}
	return from, to, nil
}

// checkLimit rejects a row limit that is too small.
func checkLimit(n int) error {
	if n < 1 {
		return &failure{code: exitFailed, cause: fmt.Sprintf("limit must be a number from 1 to %d", web.MaxLimit)}
	}
	return nil
}
