package web

import (
	"context"
	_ "embed"
	"net/http"
	"reflect"
	"time"

	"hob/autonomy/api"
)

// route describes how one route is served and documented in openapi.json.
type route struct {
	method, path    string
	id, tag         string // operationId and group of the operation
	summary, detail string
	params          []param
	security        []string // proofs listed in openapi.json for an open route; empty means that it needs no proof
	grave           bool     // whether the route decides for the owner, so that its client must be identified
	fails           []int    // HTTP statuses of errors that clients should handle
	endpoint
}

// param is a parameter of a route. Path parameters are required.
type param struct {
	name, in string // in: path, query or header
	text     string
	required bool
	schema   paramSchema
}

// paramSchema restricts the value of a parameter. The zero value allows any string.
type paramSchema struct {
	kind             string // integer or boolean; "" means string
	values           []string
	standard         string // default value
	minimum, maximum int
}

// endpoint serves a route. Exactly one of open and owner is set. Open routes need no proof or check
// it themselves; the server authenticates requests to owner routes.
type endpoint struct {
	open    func(w http.ResponseWriter, r *http.Request) error
	owner   func(w http.ResponseWriter, r *http.Request, c call) error
	html    bool         // whether errors are pages
	request *requestBody // nil if there is no body
	replies []reply
}

// call is an authenticated request to a route.
type call struct {
	by    authMethod
	query []string // names of the route's query parameters
}

// requestBody is the body of a request: JSON of the given type, or any bytes if the type is nil. If
// the type has a required field, the body is also required.
type requestBody struct {
	json     reflect.Type
	required bool
}

// reply is one successful response: JSON of one of the types, or text of one of the media types.
type reply struct {
	status int
	text   string
	json   []reflect.Type
	media  []string
	stream reflect.Type // the types of the events in a text/event-stream
}

// bodyOf returns the description of a JSON body.
func bodyOf[T any]() *requestBody { return &requestBody{json: reflect.TypeFor[T]()} }

// neededBodyOf is like bodyOf, but the body is required although all fields of the type are
// optional.
func neededBodyOf[T any]() *requestBody {
	return &requestBody{json: reflect.TypeFor[T](), required: true}
}

// okJSON returns a response with status 200 and a JSON body of one of the types.
func okJSON(types ...reflect.Type) []reply {
	return []reply{{status: http.StatusOK, text: "OK", json: types}}
}

// okMedia returns a successful response that is not JSON.
func okMedia(media ...string) []reply {
	return []reply{{status: http.StatusOK, text: "OK", media: media}}
}

// listEndpoint returns an endpoint for a read-only list. It accepts only the parameters of its
// route, so that a typo is not mistaken for an empty list.
func listEndpoint[T any](s *Server, list func(context.Context, api.Query) ([]T, error)) endpoint {
	return readEndpoint(s, func(r *http.Request, c call) ([]T, error) {
		q, err := parseQuery(r.URL.RawQuery, c.query)
		if err != nil {
			return nil, err
		}
		if r.PathValue("session") != "" {
			if q.Of, err = sessionID(r.PathValue("session")); err != nil {
				return nil, err
			}
		}
		out, err := list(r.Context(), q)
		return notNil(out), err
	})
}

// notNil returns list, or an empty list for nil, which would be encoded as null in JSON.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// unfiltered adapts a list function that takes no query to the signature that listEndpoint needs.
// It ignores the query.
func unfiltered[T any](list func(context.Context) ([]T, error)) func(context.Context, api.Query) ([]T, error) {
	return func(ctx context.Context, _ api.Query) ([]T, error) { return list(ctx) }
}

// readEndpoint returns an endpoint that responds with the result of read.
func readEndpoint[Out any](s *Server, read func(r *http.Request, c call) (Out, error)) endpoint {
	return endpoint{replies: okJSON(reflect.TypeFor[Out]()), owner: func(w http.ResponseWriter, r *http.Request, c call) error {
		out, err := read(r, c)
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}}
}

// actionEndpoint returns an endpoint that passes a JSON body to do and responds with the result.
func actionEndpoint[In, Out any](s *Server, do func(r *http.Request, c call, in In) (Out, error)) endpoint {
	e := endpoint{replies: okJSON(reflect.TypeFor[Out]()), owner: func(w http.ResponseWriter, r *http.Request, c call) error {
		var in In
		if err := s.readJSONBody(w, r, &in); err != nil {
			return err
		}
		out, err := do(r, c, in)
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}}
	if reflect.TypeFor[In]() != reflect.TypeFor[struct{}]() {
		e.request = bodyOf[In]()
	}
	return e
}

// queryNames returns the names of the query parameters.
func (rt route) queryNames() (names []string) {
	for _, p := range rt.params {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}
	return names
}

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range s.routeTable() {
		open := rt.open
		if open == nil {
			open = s.ownerOnly(rt.owner, rt.grave, rt.queryNames())
		}
		mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
			err := open(w, r)
			switch {
			case err == nil:
			case rt.html:
				s.writePageError(w, r, err)
			default:
				s.writeError(w, r, err)
			}
		})
	}
	for _, p := range s.opt.Protocols {
		mux.Handle(p.Pattern, s.protocolHandler(p))
	}
	return mux
}

// protocolHandler returns the handler of another protocol. Its requests end with the server.
func (s *Server) protocolHandler(p Protocol) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.FromHob && s.requestPeer(r, false, false) == PeerHob {
			s.log.Warn("rejected a request from a program started by Hob", "path", r.URL.Path)
			s.writeError(w, r, newFailure(http.StatusForbidden, "not_the_owner", "", "programs started by Hob cannot use this endpoint"))
			return
		}
		ctx, stop := withServerLifetime(r.Context())
		defer stop()
		p.Handler.ServeHTTP(w, r.WithContext(ctx))
	})
}

// ownerOnly returns a handler for an owner route. It serves the request for as long as the proof is
// valid.
func (s *Server) ownerOnly(serve func(http.ResponseWriter, *http.Request, call) error, grave bool, query []string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		by, cred, err := s.checkProof(r, grave)
		if err != nil {
			return err
		}
		r, done := withProofLifetime(r, cred)
		defer done()
		return serve(w, r, call{by: by, query: query})
	}
}

func (s *Server) serveHealthz(w http.ResponseWriter, _ *http.Request) error {
	s.writeJSON(w, http.StatusOK, Health{Status: "ok", Version: s.buildVersion()})
	return nil
}

func (s *Server) buildVersion() string {
	if s.opt.Version != "" {
		return s.opt.Version
	}
	return s.backend.Version()
}

func (s *Server) serveReadyz(w http.ResponseWriter, _ *http.Request) error {
	if err := s.backend.Ready(); err != nil {
		return newFailure(http.StatusServiceUnavailable, "not_ready", "", "%v", err)
	}
	s.writeJSON(w, http.StatusOK, Readiness{Status: "ready"})
	return nil
}

func (s *Server) serveMetrics(w http.ResponseWriter, _ *http.Request, _ call) error {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	writeBy(w, time.Now().Add(writeTime))
	_, _ = w.Write(s.backend.Metrics())
	return nil
}

// document describes the API in OpenAPI 3.1. It is generated from the route table and the types of
// the bodies. A test fails if it is out of date.
//
//go:generate go test -count=1 -run ^TestOpenAPI_IsCurrent$ . -update
//go:embed openapi.json
var document []byte

// serveOpenAPI responds with the OpenAPI description of the API.
func (s *Server) serveOpenAPI(w http.ResponseWriter, _ *http.Request, _ call) error {
	w.Header().Set("Content-Type", "application/json")
	writeBy(w, time.Now().Add(writeTime))
	_, _ = w.Write(document)
	return nil
}
