package llm

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// An unexpectedly compressed answer is decompressed once, also by a client derived from another
// client.
func TestClient_DecompressesOnce(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "hello")
		_ = z.Close()
	}))
	t.Cleanup(s.Close)
	one := Client(nil)
	for _, c := range []*http.Client{one, Client(one)} {
		t.Cleanup(c.CloseIdleConnections)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); string(b) != "hello" || err != nil {
			t.Errorf("ReadAll = %q %v", b, err)
		}
	}
}
