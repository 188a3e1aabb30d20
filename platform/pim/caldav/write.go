package caldav

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"hob/platform/pim"
)

// ErrUnsure means that a request was sent but its outcome is unknown.
var ErrUnsure = errors.New("outcome unknown")

// setBasicAuth adds the account's credentials to a request.
func (c *Client) setBasicAuth(req *http.Request) {
	req.Header.Set("User-Agent", "hob")
	if c.account.Auth == pim.AuthToken {
		req.Header.Set("Authorization", "Bearer "+c.secret)
	} else {
		req.SetBasicAuth(c.account.Login(), c.secret)
	}
}

// requestObject sends a request about one object. It does not follow redirects, because a write
// must go to the address that the server returned for the calendar.
func (c *Client) requestObject(ctx context.Context, method, path string, header map[string]string, body []byte) (status int, etag string, data []byte, err error) {
	at, err := url.Parse(path)
	if err != nil {
		return 0, "", nil, fmt.Errorf("%w: %q", pim.ErrNotFound, pim.SanitizeLine(path, 100))
	}
	if err := c.checkSameDomain(at); err != nil {
		return 0, "", nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	c.setBasicAuth(req)
	res, err := c.http.Do(req)
	if err != nil {
		if u, is := errors.AsType[*url.Error](err); is {
			err = u.Err
		}
		return 0, "", nil, err
	}
	defer res.Body.Close()
	data, err = io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil && res.StatusCode < 300 && method == http.MethodGet {
		return 0, "", nil, err
	}
	return res.StatusCode, res.Header.Get("ETag"), data, nil
}

// errorForStatus converts an HTTP status to an error. It returns nil for a success.
func errorForStatus(what string, status int) error {
	no := &statusError{status, what}
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusPreconditionFailed, status == http.StatusConflict:
		return fmt.Errorf("%w: %w", pim.ErrChanged, no)
	case status == http.StatusNotFound, status == http.StatusGone:
		return fmt.Errorf("%w: %w", pim.ErrNotFound, no)
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%w: %w", pim.ErrSignIn, no)
	}
	return fmt.Errorf("%w: %w", pim.ErrRefused, no)
}

// Read returns an object and its version.
func (c *Client) Read(ctx context.Context, path string) (data []byte, etag string, err error) {
	status, etag, data, err := c.requestObject(ctx, http.MethodGet, path, nil, nil)
	if err == nil {
		err = errorForStatus(http.MethodGet, status)
	}
	if err != nil {
		return nil, "", c.account.Errorf("calendars: %w", err)
	}
	return data, etag, nil
}

// Write stores an object. If etag is "", it creates a new one; otherwise it replaces that version.
// It returns the new version. An error that does not wrap ErrUnsure means that nothing changed.
// pim.ErrChanged means that the server has another version.
func (c *Client) Write(ctx context.Context, path string, data []byte, etag, kind string) (string, error) {
	header := map[string]string{"Content-Type": kind + "; charset=utf-8"}
	if etag == "" {
		header["If-None-Match"] = "*"
	} else {
		header["If-Match"] = etag
	}
	status, now, _, err := c.requestObject(ctx, http.MethodPut, path, header, data)
	if err == nil && status < http.StatusInternalServerError {
		if err = errorForStatus(http.MethodPut, status); err == nil && now == "" { // the server changed the object that it stored (RFC 4791, 5.3.4)
			_, now, err = c.Read(ctx, path)
			if err != nil {
				err = fmt.Errorf("%w: %w", ErrUnsure, err)
			}
		}
		return now, c.wrapError(err)
	}
	if err == nil {
		err = &statusError{status, http.MethodPut}
	}
	// the write may have succeeded, so read the object to find out
	there, now, rerr := c.Read(context.WithoutCancel(ctx), path)
	switch {
	case rerr == nil && bytes.Equal(stripWhitespace(there), stripWhitespace(data)):
		return now, nil
	case rerr == nil && etag != "" && now == etag, etag == "" && errors.Is(rerr, pim.ErrNotFound):
		return "", c.wrapError(err)
	}
	return "", c.wrapError(fmt.Errorf("%w: %w", ErrUnsure, err))
}

func (c *Client) wrapError(err error) error {
	if err == nil {
		return nil
	}
	return c.account.Errorf("calendars: %w", err)
}

func stripWhitespace(b []byte) []byte { return []byte(strings.Join(strings.Fields(string(b)), "")) }

// Remove deletes a version of an object.
func (c *Client) Remove(ctx context.Context, path, etag string) error {
	header := map[string]string{}
	if etag != "" {
		header["If-Match"] = etag
	}
	status, _, _, err := c.requestObject(ctx, http.MethodDelete, path, header, nil)
	if err == nil && status < http.StatusInternalServerError {
		return c.wrapError(errorForStatus(http.MethodDelete, status))
	}
	if err == nil {
		err = &statusError{status, http.MethodDelete}
	}
	switch _, now, rerr := c.Read(context.WithoutCancel(ctx), path); {
	case errors.Is(rerr, pim.ErrNotFound):
		return nil
	case rerr == nil && now == etag:
		return c.wrapError(err)
	}
	return c.wrapError(fmt.Errorf("%w: %w", ErrUnsure, err))
}

// Schedules reports whether the server sends invitations itself. It queries the calendar, because
// the root of the server does not have to report this (RFC 6638, 2).
func (c *Client) Schedules(ctx context.Context) (bool, error) {
	list, err := c.Calendars(ctx)
	if err != nil {
		return false, err
	}
	at, err := url.Parse(list[0].Path)
	if err != nil {
		return false, err
	}
	if err := c.checkSameDomain(at); err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodOptions, at.String(), nil)
	if err != nil {
		return false, err
	}
	c.setBasicAuth(req)
	res, err := c.http.Do(req)
	if err != nil {
		return false, c.wrapError(err)
	}
	_ = res.Body.Close()
	if err := errorForStatus(http.MethodOptions, res.StatusCode); err != nil {
		return false, c.wrapError(err)
	}
	can := strings.Join(res.Header.Values("DAV"), ",")
	if !strings.Contains(can, "calendar-access") { // a proxy answered
		return false, c.wrapError(errors.New("the server does not report its capabilities"))
	}
	return strings.Contains(can, "calendar-auto-schedule"), nil
}
