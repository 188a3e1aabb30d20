package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// Client returns an HTTP client whose requests go directly to the handler, without a socket. The
// command line uses it if no daemon runs. Bodies are streamed; closing a response body ends its
// request. URLs begin with URL().
func (s *Server) Client() *http.Client { return &http.Client{Transport: directTransport{s}} }

type directTransport struct{ s *Server }

// inProcess is the remote address of in-process requests. No real connection has it.
const inProcess = "in-process"

// RoundTrip implements http.RoundTripper.
func (d directTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	in := r.Clone(ctx)
	in.Host, in.RemoteAddr, in.RequestURI = cmp.Or(r.Host, r.URL.Host), inProcess, r.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &pipeWriter{w: pw, header: http.Header{}, ready: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				_ = pw.CloseWithError(errors.New("web: the handler aborted the response"))
			}
		}()
		d.s.ServeHTTP(w, in)
		w.WriteHeader(http.StatusOK)
		_ = pw.Close() // never fails
	}()
	stop := context.AfterFunc(ctx, func() { _ = pr.CloseWithError(context.Canceled) })
	body := &pipeBody{PipeReader: pr, end: sync.OnceFunc(func() {
		stop()
		cancel()
		_ = pr.Close()
		<-ended
		_ = in.Body.Close()
	})}
	select {
	case <-w.ready:
	case <-ended: // the request ended before a response
	case <-ctx.Done():
	}
	select {
	case <-w.ready:
	default:
		body.end()
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return nil, errors.New("web: the handler ended without a response")
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

type pipeBody struct {
	*io.PipeReader
	end func()
}

func (b *pipeBody) Close() error {
	b.end()
	return nil
}

// pipeWriter is the handler's side of an in-process request.
type pipeWriter struct {
	w      *io.PipeWriter
	header http.Header
	sent   http.Header
	status int
	ready  chan struct{}
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status, w.sent = status, w.header.Clone()
	close(w.ready)
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.w.Write(b)
}

// Flush implements http.Flusher. A pipe does not buffer.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }
