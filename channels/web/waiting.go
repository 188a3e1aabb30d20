package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/config"
)

// AnswerOutage listens on the address of the server while Hob waits for its database at the start.
// /healthz answers 200, and every other request gets 503 with the cause. The returned function frees
// the address. With TLS, the address stays closed.
func AnswerOutage(ctx context.Context, c config.Web, cause func() error) (stop func(), err error) {
	if c.TLSCert != "" {
		return func() {}, nil
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("web: listen on %s: %w", c.Listen, err)
	}
	srv := &http.Server{ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/healthz" {
			_ = json.NewEncoder(w).Encode(Health{Status: "waiting"})
			return
		}
		f := failureOf(fmt.Errorf("%w: %w", api.ErrAway, cause()))
		w.Header().Set("Retry-After", strconv.Itoa(int(f.After/time.Second)))
		w.WriteHeader(f.Status)
		_ = json.NewEncoder(w).Encode(f.errorBody())
	})}
	var ended sync.WaitGroup
	ended.Go(func() { _ = srv.Serve(ln) }) // it returns when the server is closed
	return func() {
		_ = srv.Close()
		ended.Wait()
	}, nil
}
