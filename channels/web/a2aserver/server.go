// Package a2aserver lets other agents give tasks to Hob over A2A 1.0 (https://a2a-protocol.org): a
// public agent card, JSON-RPC at /a2a and REST at /a2a/v1. A client authenticates with a token from
// `hob a2a token NAME` and is the guest "a2a:NAME": its text is untrusted, and Hob asks the user
// before each call of a tool. Each message becomes an event of the inbox, so that a task survives a
// restart. Package web serves the handler; it checks Host, Origin and the client's process first.
//
// The table a2a_tasks maps tasks to events. A task belongs to the id of its client, and ends when the
// client is revoked or expires. The state and the answer of a task are those of its
// event, so the package stores them only when the task has ended.
package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"hob/autonomy/api"
	"hob/channels"
	"hob/channels/web"
	"hob/platform/net/safehttp"
	"hob/platform/store"
)

// Channel is the name of the channel of all A2A clients. The sender of messages from the client
// NAME is "a2a:NAME".
const Channel = "a2a"

// The paths of the server.
const (
	CardPath = "/.well-known/agent-card.json"
	RPCPath  = "/a2a"
	RESTPath = "/a2a/v1"
)

// Limits.
const (
	maxBody     = 8 << 20 // bytes of a request
	maxOpen     = 100     // open tasks per client
	maxKept     = 1000    // ended tasks per client
	maxMessages = 100     // messages of a client per task
	maxListed   = 8 << 20 // bytes of text in one page of ListTasks
	maxCalls    = 16      // calls of one client that wait for a task
	bodyTime    = 30 * time.Second
	writeTime   = time.Minute // time limit for reading one event of a stream
	keepAlive   = 15 * time.Second
	blockTime   = 5 * time.Minute // how long SendMessage waits for the end of the task
	pollTime    = 300 * time.Millisecond
	askedTime   = 2 * time.Second // interval of checks while the user is asked
	recheckTime = 3 * time.Second // interval at which streams and open tasks check their token again
	idleTime    = time.Minute     // interval of checks for revoked clients while no task is open
)

// Engine is the part of Hob that the server uses. *service.Service implements it.
type Engine interface {
	channels.Receiver
	// Event and Wait are methods of api.Turns.
	Event(ctx context.Context, id string) (api.EventStatus, error)
	Wait(ctx context.Context, id string) (api.EventStatus, error)
	// CancelEvent drops an event that waits, or ends its turn. It reports whether the event was open.
	CancelEvent(ctx context.Context, id string) (bool, error)
	// AuthenticateClient is a method of api.ClientCalls.
	AuthenticateClient(ctx context.Context, kind, token string) (api.Client, error)
	// IsClientValid reports whether the client with an id exists and its token has not expired.
	IsClientValid(ctx context.Context, kind, id string) (bool, error)
}

// Options holds the options of New. All are required.
type Options struct {
	Store   *store.Store
	Engine  Engine
	Network *safehttp.Client // client for push notifications
	Name    string           // name of the agent
	Version string
	TLS     bool // whether the addresses in the card are https
	Log     *slog.Logger
}

// Server implements the protocol. Its methods may be called concurrently.
type Server struct {
	o         Options
	rpc, rest http.Handler
	wake      chan struct{} // signals that a task needs to be followed

	mu    sync.Mutex
	calls map[string]int // number of waiting calls, keyed by client
}

// New returns a server over a database opened with Migrations.
func New(o Options) (*Server, error) {
	if o.Store == nil || o.Engine == nil || o.Network == nil || o.Log == nil || o.Name == "" {
		return nil, errors.New("a2aserver: Options needs Store, Engine, Network, Log and Name")
	}
	s := &Server{o: o, wake: make(chan struct{}, 1), calls: map[string]int{}}
	options := []a2asrv.TransportOption{a2asrv.WithTransportKeepAlive(keepAlive), a2asrv.WithTransportPanicHandler(func(p any) error {
		o.Log.Error("a2a: handler panicked", "panic", p)
		return a2a.ErrInternalError
	})}
	s.rpc = a2asrv.NewJSONRPCHandler(requests{s}, options...)
	s.rest = http.StripPrefix(RESTPath, a2asrv.NewRESTHandler(requests{s}, options...))
	return s, nil
}

// Protocols returns the endpoints for the API server.
func (s *Server) Protocols() []web.Protocol {
	return []web.Protocol{
		{Pattern: "GET " + CardPath, Handler: http.HandlerFunc(s.serveCard)},
		{Pattern: RPCPath, Handler: http.HandlerFunc(s.serveRPC)},
		{Pattern: RESTPath + "/", Handler: http.HandlerFunc(s.serveREST)},
	}
}

// serveCard responds with the public agent card. It contains nothing about the user.
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.agentCard(r.Host)) // a disconnected client needs no error
}

// agentCard returns the card. host is the host under which the client reached the server, which
// package web has checked.
func (s *Server) agentCard(host string) *a2a.AgentCard {
	base := "http://" + host
	if s.o.TLS {
		base = "https://" + host
	}
	const bearer = "bearer"
	text := []string{"text/plain"}
	return &a2a.AgentCard{
		Name: s.o.Name, Version: s.o.Version, Description: "A personal assistant that works for its user. It answers questions and carries out tasks; its user decides about each action.",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+RPCPath, a2a.TransportProtocolJSONRPC), a2a.NewAgentInterface(base+RESTPath, a2a.TransportProtocolHTTPJSON),
		},
		Capabilities:      a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes: append(text, "application/json", "image/png", "image/jpeg"), DefaultOutputModes: text,
		SecuritySchemes: a2a.NamedSecuritySchemes{
			bearer: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "The token that the user of this agent created with: hob a2a token NAME"},
		},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{bearer: {}}},
		Skills: []a2a.AgentSkill{{
			ID: "assistant", Name: "Personal assistant", Description: "Answers a message in plain words. Actions need the approval of the user, during which the task stays in the state working.",
			Tags: []string{"assistant", "tasks", "questions"}, Examples: []string{"When is the dentist's appointment?"}, InputModes: text, OutputModes: text,
		}},
	}
}

// caller is an authenticated client in the context of its request.
type caller struct {
	id      string // owner of the tasks; a later client of the same name has a different id
	name    string
	token   string
	version error // not nil if the client speaks another version of the protocol
}

type callerKey struct{}

// callerOf returns the client of a request, or an error if it speaks another version.
func callerOf(ctx context.Context) (caller, error) {
	c, ok := ctx.Value(callerKey{}).(caller)
	if !ok {
		return c, a2a.ErrUnauthenticated
	}
	return c, c.version
}

// authenticateClient returns the request with its client, or responds with 401.
func (s *Server) authenticateClient(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if strings.EqualFold(scheme, "Bearer") && token != "" {
		client, err := s.o.Engine.AuthenticateClient(r.Context(), Channel, token)
		if err == nil {
			c := caller{id: client.ID, name: client.Name, token: token, version: checkVersion(r)}
			return r.WithContext(context.WithValue(r.Context(), callerKey{}, c)), true
		}
		if !errors.Is(err, api.ErrDenied) {
			s.o.Log.Error("a2a: cannot check a token", "err", err)
			writeFailure(w, http.StatusServiceUnavailable, "not_ready", "the token cannot be checked now", "try again later")
			return nil, false
		}
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="a2a"`)
	writeFailure(w, http.StatusUnauthorized, "unauthorised", "this request needs the token of an A2A client", "create one with: hob a2a token NAME")
	return nil, false
}

// writeFailure responds with an error in the form of Hob's API.
func writeFailure(w http.ResponseWriter, status int, code, message, remedy string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.ErrorBody{Error: api.Error{Code: code, Message: message, Remedy: remedy}})
}

// checkVersion checks the version of the protocol. A missing version means 0.3 (specification,
// section 3.6).
func checkVersion(r *http.Request) error {
	v := r.Header.Get(a2a.SvcParamVersion)
	if v == "" {
		v = r.URL.Query().Get(a2a.SvcParamVersion)
	}
	switch {
	case v == string(a2a.Version) || strings.HasPrefix(v, string(a2a.Version)+"."):
		return nil
	case v == "":
		return a2a.NewError(a2a.ErrVersionNotSupported, "the header A2A-Version is missing, which means version 0.3; send A2A-Version: 1.0")
	}
	return a2a.NewError(a2a.ErrVersionNotSupported, "this version of A2A is not supported; send A2A-Version: 1.0")
}

// readBody reads the body of a request.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime)) // in-process requests have no deadline
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = rc.SetReadDeadline(time.Time{})
	if err == nil {
		return b, true
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		writeFailure(w, http.StatusRequestEntityTooLarge, "too_large", "the request is larger than 8 MB", "send less")
		return nil, false
	}
	writeFailure(w, http.StatusBadRequest, "invalid", "the request ended early", "")
	return nil, false
}

// serveRPC serves JSON-RPC.
func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request) {
	r, ok := s.authenticateClient(w, r)
	if !ok {
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		writeFailure(w, http.StatusMethodNotAllowed, "method_not_allowed", RPCPath+" accepts only POST", "the REST interface is at "+RESTPath)
		return
	}
	b, ok := readBody(w, r)
	if !ok {
		return
	}
	b, id, err := checkEnvelope(b)
	if err != nil {
		writeRPCError(w, id, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	s.rpc.ServeHTTP(&deadlineWriter{w}, r)
}

// serveREST serves the REST interface.
func (s *Server) serveREST(w http.ResponseWriter, r *http.Request) {
	r, ok := s.authenticateClient(w, r)
	if !ok {
		return
	}
	b, ok := readBody(w, r)
	if !ok {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	s.rest.ServeHTTP(&deadlineWriter{w}, r)
}

// rpcError is an error in the envelope of a JSON-RPC request.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// checkEnvelope makes the checks that the SDK's handler omits or reports with a different code: the
// types of the envelope's fields and of the parameters. It returns the request for the handler, and
// the id of the request for an error.
func checkEnvelope(b []byte) (checked []byte, id json.RawMessage, err error) {
	if !json.Valid(b) {
		return b, nil, nil // the handler reports it
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(b, &in) != nil {
		return nil, nil, &rpcError{-32600, "the request must be a JSON object; batches are not supported"}
	}
	id = in["id"]
	if len(id) > 0 && string(id) != "null" && json.Unmarshal(id, new(string)) != nil && json.Unmarshal(id, new(float64)) != nil {
		return nil, nil, &rpcError{-32600, "id must be a string or a number"}
	}
	var version, method string
	if json.Unmarshal(in["jsonrpc"], &version) != nil || version != "2.0" {
		return nil, id, &rpcError{-32600, `jsonrpc must be "2.0"`}
	}
	if json.Unmarshal(in["method"], &method) != nil || method == "" {
		return nil, id, &rpcError{-32600, "method must be the name of a method"}
	}
	params := in["params"]
	if len(params) == 0 || string(params) == "null" {
		params = json.RawMessage("{}")
	}
	if target := paramsOf(method); target != nil {
		if err := json.Unmarshal(params, target); err != nil {
			return nil, id, &rpcError{-32602, "invalid params: " + err.Error()}
		}
	}
	in["params"] = params
	checked, err = json.Marshal(in)
	return checked, id, err
}

// paramsOf returns a value for the parameters of a method; nil for an unknown method, which the
// handler reports.
func paramsOf(method string) any {
	switch method {
	case "SendMessage", "SendStreamingMessage":
		return &a2a.SendMessageRequest{}
	case "GetTask":
		return &a2a.GetTaskRequest{}
	case "ListTasks":
		return &a2a.ListTasksRequest{}
	case "CancelTask":
		return &a2a.CancelTaskRequest{}
	case "SubscribeToTask":
		return &a2a.SubscribeToTaskRequest{}
	case "CreateTaskPushNotificationConfig":
		return &a2a.PushConfig{}
	case "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig":
		return &a2a.GetTaskPushConfigRequest{}
	}
	return nil
}

func writeRPCError(w http.ResponseWriter, id json.RawMessage, err error) {
	e, ok := errors.AsType[*rpcError](err)
	if !ok {
		e = &rpcError{-32603, "internal error"}
	}
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *rpcError       `json:"error"`
	}{"2.0", id, e})
}

// deadlineWriter ends a response whose client does not read it.
type deadlineWriter struct{ http.ResponseWriter }

func (w *deadlineWriter) Write(b []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime)) // in-process writers have no deadline
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *deadlineWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
