package channelstest

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Sockets holds the open WebSocket connections of a platform. The zero value is empty. The methods
// may be called concurrently.
type Sockets struct {
	mu   sync.Mutex
	open []*Socket
	ever bool
}

// Socket is one connection. Writes are serialized, and each has a short timeout.
type Socket struct {
	mu   sync.Mutex
	conn *websocket.Conn
}

// Serve upgrades a request to a socket. begin writes first; other writes wait until it returns.
// Then the socket joins the list of open sockets. Serve calls heard with each message until the
// connection ends.
func (s *Sockets) Serve(w http.ResponseWriter, r *http.Request, begin func(say func(any)), heard func(*Socket, []byte)) {
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	k := &Socket{conn: conn}
	k.mu.Lock()
	s.mu.Lock()
	s.open, s.ever = append(s.open, k), true
	s.mu.Unlock()
	begin(func(v any) { _ = k.writeLocked(v) })
	k.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open = slices.DeleteFunc(s.open, func(o *Socket) bool { return o == k })
	}()
	for {
		_, raw, err := conn.ReadMessage()
		if err != nil {
			return
		}
		heard(k, raw)
	}
}

// writeLocked writes a message. The caller holds k.mu.
func (k *Socket) writeLocked(v any) error {
	_ = k.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	if raw, ok := v.([]byte); ok {
		return k.conn.WriteMessage(websocket.TextMessage, raw)
	}
	return k.conn.WriteJSON(v)
}

// Write sends v as JSON, or unchanged if v is bytes.
func (k *Socket) Write(v any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.writeLocked(v)
}

// Close closes the connection with a close code. Code 0 closes it without a close frame.
func (k *Socket) Close(code int) {
	if code != 0 {
		_ = k.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	}
	_ = k.conn.Close()
}

// Last returns the newest connection, or nil if there is none.
func (s *Sockets) Last() *Socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		return nil
	}
	return s.open[len(s.open)-1]
}

// Ever reports whether a client has ever connected.
func (s *Sockets) Ever() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ever
}

// Len returns the number of open connections.
func (s *Sockets) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// Cut closes all connections without a close frame.
func (s *Sockets) Cut() {
	s.mu.Lock()
	all := slices.Clone(s.open)
	s.mu.Unlock()
	for _, k := range all {
		k.Close(0)
	}
}
