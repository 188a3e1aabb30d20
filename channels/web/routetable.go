package web

import (
	"net/http"
	"reflect"
	"slices"

	"hob/autonomy/api"
)

// routeTable returns every route. openapi.json is generated from it.
func (s *Server) routeTable() []route {
	return slices.Concat(
		s.healthRoutes(), s.pageRoutes(), s.dashboardRoutes(), s.messageRoutes(), s.feedRoutes(), s.sessionRoutes(), s.approvalRoutes(), s.channelRoutes(), s.clientRoutes(),
		s.triggerRoutes(), s.toolRoutes(), s.mcpRoutes(), s.goalRoutes(), s.watcherRoutes(), s.noticeRoutes(), s.agentRoutes(), s.memoryRoutes(),
		s.forgetRoutes(), s.learnedRoutes(), s.auditRoutes(), s.usageRoutes(), s.manageRoutes(), s.doctorRoutes(), s.openAIRoutes(), s.programRoutes(),
	)
}

func pathParam(name, text string) param {
	return param{name: name, in: "path", text: text, required: true}
}

func queryParam(name, text string) param { return param{name: name, in: "query", text: text} }

func headerParam(name, text string) param { return param{name: name, in: "header", text: text} }

func flagParam(name, text string) param {
	return param{name: name, in: "query", text: text, schema: paramSchema{kind: "boolean"}}
}

// choiceParam returns a query parameter with a fixed set of values. The first value is the default.
func choiceParam(name, text string, values ...string) param {
	return param{name: name, in: "query", text: text, schema: paramSchema{values: values, standard: values[0]}}
}

// limitParam returns the query parameter that limits the number of rows.
func limitParam(standard string) param {
	return param{
		name: "limit", in: "query", text: "maximum number of rows",
		schema: paramSchema{kind: "integer", minimum: 1, maximum: MaxLimit, standard: standard},
	}
}

// pageParams returns the parameters of a paged list, newest rows first.
func pageParams(more ...param) []param {
	return append([]param{limitParam("1000"), queryParam("before", "only rows older than the row with this id")}, more...)
}

func sessionFilter() param { return queryParam("session", "only rows for this session") }

func stateFilter() param { return queryParam("state", "only rows in this state") }

func sincePeriod() []param {
	return []param{
		queryParam("since", "not before this day or time, such as 2026-03-01 or 2026-03-01T12:00:00Z"),
		queryParam("until", "before this day or time"),
	}
}

// clientParam returns the header parameter with the client id.
func clientParam(required bool) param {
	return param{name: ClientHeader, in: "header", required: required, text: "random id of the page or program: 1 to 64 characters of A-Z, a-z, 0-9, - and _. " +
		"A bare yes answers only approval requests that the same client has displayed"}
}

func channelParam() param {
	return headerParam("X-Hob-Channel", "the client's pull channel: web (default) or terminal")
}

func keyParam(text string) param { return headerParam("Idempotency-Key", text) }

const keyText = "the client's own id for the request; the server accepts each key once per session"

func (s *Server) healthRoutes() []route {
	return []route{
		{
			method: "GET", path: "/healthz", id: "health", tag: "health", summary: "Report that the process is running",
			endpoint: endpoint{open: s.serveHealthz, replies: okJSON(reflect.TypeFor[Health]())},
		},
		{
			method: "GET", path: "/readyz", id: "ready", tag: "health", summary: "Report whether Hob accepts messages", fails: []int{503},
			endpoint: endpoint{open: s.serveReadyz, replies: okJSON(reflect.TypeFor[Readiness]())},
		},
		{
			method: "GET", path: "/metrics", id: "metrics", tag: "health", summary: "Get the metrics in the text format of Prometheus",
			endpoint: endpoint{owner: s.serveMetrics, replies: okMedia("text/plain")},
		},
		{
			method: "GET", path: "/api/v1/openapi.json", id: "openapi", tag: "api", summary: "Get this document",
			endpoint: endpoint{owner: s.serveOpenAPI, replies: okJSON(reflect.TypeFor[map[string]any]())},
		},
	}
}

func (s *Server) pageRoutes() []route {
	return []route{
		{
			method: "GET", path: "/login", id: "useLogin", tag: "page", summary: "Use a login link: sets the cookie and redirects to the page",
			params:   []param{queryParam("code", "the one-time code")},
			endpoint: endpoint{open: s.useLogin, replies: []reply{{status: http.StatusSeeOther, text: "redirects to the page"}}},
		},
		{
			method: "POST", path: "/login", id: "passwordLogin", tag: "page", summary: "Log in with the password, if one is configured; a form is redirected to the page",
			endpoint: endpoint{open: s.passwordLogin, request: bodyOf[PasswordRequest](), replies: okJSON(reflect.TypeFor[struct{}]())},
		},
		{
			method: "POST", path: "/logout", id: "logout", tag: "page", summary: "End the login of this browser",
			endpoint: endpoint{html: true, owner: s.logOut, replies: []reply{{status: http.StatusSeeOther, text: "redirects to the page"}}},
		},
		{
			method: "POST", path: "/api/v1/login", id: "newLogin", tag: "page", grave: true, summary: "Create a login link that works once within two minutes",
			endpoint: actionEndpoint(s, s.newLogin),
		},
	}
}

func (s *Server) messageRoutes() []route {
	return []route{
		{
			method: "POST", path: "/api/v1/sessions/{session}/messages", id: "message", tag: "api", summary: "Send a message to Hob",
			params: []param{
				pathParam("session", "the session; Hob creates one that does not exist"), channelParam(), clientParam(false), keyParam(keyText),
			},
			fails: []int{413}, endpoint: endpoint{owner: s.serveMessage, request: neededBodyOf[Message](), replies: []reply{
				{
					status: http.StatusOK, json: []reflect.Type{reflect.TypeFor[api.Answered]()}, media: []string{"text/event-stream"},
					text: "the answer. With Accept: text/event-stream the events message_start, content_delta, tool_call_start, tool_call_delta, approval_required, " +
						"tool_start, tool_progress (every 15 s while a tool runs), tool_result, message_end, error, and ping every 15 s",
				},
				{
					status: http.StatusAccepted, json: []reflect.Type{reflect.TypeFor[Accepted](), reflect.TypeFor[Waiting]()},
					text: "with async: the message is stored. Otherwise a tool call is waiting for the user, and the turn continues after the decision",
				},
			}},
		},
		{
			method: "GET", path: "/api/v1/sessions/{session}/messages", id: "messages", tag: "api", summary: "List the messages in a session, newest first",
			params: append([]param{pathParam("session", "the session")}, pageParams()...), endpoint: listEndpoint(s, s.backend.Messages),
		},
		{
			method: "GET", path: "/api/v1/inbox/{event}", id: "event", tag: "api", summary: "Get the state of a message, with its answer once it is done",
			params: []param{pathParam("event", "id of the event")}, fails: []int{404},
			endpoint: readEndpoint(s, s.eventStatus),
		},
		{
			method: "GET", path: "/api/v1/inbox", id: "inbox", tag: "lists", summary: "List the events of the inbox, newest first",
			params: pageParams(sessionFilter()), endpoint: listEndpoint(s, s.backend.Inbox),
		},
		{
			method: "GET", path: "/api/v1/deliveries", id: "deliveries", tag: "lists", summary: "List the messages that Hob sent or will send, newest first",
			params: pageParams(sessionFilter(), stateFilter()), endpoint: listEndpoint(s, s.backend.Deliveries),
		},
		{
			method: "POST", path: "/api/v1/deliveries/{delivery}/shown", id: "shown", tag: "api", grave: true, summary: "Report that this client displays an approval request",
			params: []param{pathParam("delivery", "id of the delivery"), clientParam(true)}, fails: []int{404},
			endpoint: actionEndpoint(s, s.recordShown),
		},
	}
}

func (s *Server) feedRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/events", id: "events", tag: "api", summary: "Stream the live events",
			params: []param{
				headerParam("Last-Event-ID", "the last id that the client received"),
				{name: "after", in: "query", text: "same as Last-Event-ID, for clients that cannot set headers", schema: paramSchema{kind: "integer"}},
				sessionFilter(),
			},
			endpoint: endpoint{owner: s.serveEvents, replies: []reply{{
				status: http.StatusOK, stream: reflect.TypeFor[api.FeedEvent](),
				text: "server-sent events whose data is a FeedEvent. The event dropped tells a slow client how many events it missed",
			}}},
		},
		{
			method: "GET", path: "/api/v1/why", id: "why", tag: "api", summary: "Explain why Hob did or did not do something",
			detail: `With "nothing": true if nothing has happened yet.`, fails: []int{404},
			params: []param{
				choiceParam("kind", "what to explain; silence: why Hob sent no notice", "event", "tick", "notification", "silence"),
				queryParam("id", "an event, a delivery, a watcher or a tick; empty: the latest. For a silence: a watcher, a goal, words, or since TIME"),
			},
			endpoint: readEndpoint(s, s.explain),
		},
	}
}

func (s *Server) sessionRoutes() []route {
	session := pathParam("session", "the session")
	search := []param{
		limitParam("1000"), queryParam("q", `the search text; "in quotes" finds a phrase, -word excludes a word`), queryParam("session", "only messages in this session"),
		queryParam("who", "only messages from the owner, hob, a tool or outside"),
	}
	return []route{
		{
			method: "GET", path: "/api/v1/sessions", id: "sessions", tag: "lists", summary: "List the sessions, newest first",
			params: pageParams(), endpoint: listEndpoint(s, s.backend.Sessions),
		},
		{
			method: "GET", path: "/api/v1/sessions/search", id: "search", tag: "api", summary: "Search the messages in all sessions, best match first",
			params: append(search, sincePeriod()...), endpoint: readEndpoint(s, s.searchMessages),
		},
		{
			method: "GET", path: "/api/v1/sessions/{session}/export", id: "export", tag: "api", summary: "Export the messages in a session, oldest first",
			params:   []param{session, choiceParam("format", "the format; jsonl is one JSON object per line", "markdown", "jsonl")},
			endpoint: endpoint{owner: s.serveExport, replies: okMedia("text/markdown", "application/jsonl")},
		},
		{
			method: "POST", path: "/api/v1/sessions/{session}/fork", id: "fork", tag: "api", summary: "Create a session that begins with the messages of this one",
			params: []param{session}, endpoint: actionEndpoint(s, s.forkSession),
		},
		{
			method: "POST", path: "/api/v1/sessions/{session}/replay", id: "replay", tag: "api",
			summary: "Run a recorded turn again with the recorded model answers and without effects, and return the differences",
			params:  []param{session}, endpoint: actionEndpoint(s, s.replayTurn),
		},
	}
}

func (s *Server) approvalRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/approvals", id: "approvals", tag: "lists", summary: "List the approval requests, newest first",
			params: pageParams(sessionFilter(), stateFilter()), endpoint: listEndpoint(s, s.backend.Approvals),
		},
		{
			method: "POST", path: "/api/v1/sessions/{session}/approvals/{approval}", id: "approve", tag: "api", grave: true,
			summary: "Answer an approval request; the first answer counts", fails: []int{404, 409},
			params: []param{pathParam("session", "session of the approval request"), pathParam("approval", "id of the request, or of its batch"), channelParam()},
			endpoint: endpoint{
				owner: s.serveApproval, request: bodyOf[DecisionRequest](),
				replies: okJSON(reflect.TypeFor[api.Approval](), reflect.TypeFor[[]api.Approval]()),
			},
		},
		{
			method: "GET", path: "/api/v1/grants", id: "grants", tag: "lists", summary: "List the grants, newest first",
			params: []param{limitParam("1000"), sessionFilter(), queryParam("all", "include ended grants")}, endpoint: listEndpoint(s, s.backend.Grants),
		},
		{
			method: "POST", path: "/api/v1/grants", id: "grant", tag: "api", grave: true, endpoint: actionEndpoint(s, s.createGrant),
			summary: "Allow further calls of one tool in advance: calls with the same arguments, or calls that match a pattern",
		},
		{
			method: "POST", path: "/api/v1/grants/{grant}/revoke", id: "revoke", tag: "api", grave: true, summary: "End a grant; calls that have not started are stopped",
			params: []param{pathParam("grant", "id of the grant")}, fails: []int{404}, endpoint: ownerActEndpoint(s, "grant", s.backend.Revoke),
		},
	}
}

func (s *Server) channelRoutes() []route {
	name := pathParam("channel", "name of the channel")
	return []route{
		{
			method: "GET", path: "/api/v1/channels", id: "channels", tag: "lists", summary: "List the channels with their state and the paired accounts",
			endpoint: listEndpoint(s, unfiltered(s.backend.Channels)),
		},
		{
			method: "POST", path: "/api/v1/channels/{channel}/pair", id: "pair", tag: "api", grave: true,
			summary: "Create a code that the user sends on a channel to pair an account",
			params:  []param{name}, fails: []int{404}, endpoint: ownerActEndpoint(s, "channel", s.backend.Pair),
		},
		{
			method: "POST", path: "/api/v1/channels/{channel}/test", id: "testChannel", tag: "api", grave: true,
			summary: "Sign in to a channel with its current configuration, and optionally send the user a test message there",
			params:  []param{name}, fails: []int{404}, endpoint: actionEndpoint(s, s.testChannel),
		},
		{
			method: "POST", path: "/api/v1/pairings/{pairing}/remove", id: "unpair", tag: "api", grave: true, summary: "Remove a pairing",
			params: []param{pathParam("pairing", "id of the pairing")}, fails: []int{404}, endpoint: ownerActEndpoint(s, "pairing", s.backend.Unpair),
		},
		{
			method: "POST", path: "/hooks/{channel}", id: "hook", tag: "api", summary: "Receive a post from a platform or program for a channel, which authenticates the post",
			params: []param{
				pathParam("channel", "a configured channel that receives webhooks"),
				headerParam("X-Hob-Signature", "webhook: v1=hex(HMAC-SHA256(timestamp.key.body)) with the channel's secret; without X-Hob-Timestamp sha256=hex(HMAC-SHA256(body))"),
				headerParam("X-Hob-Timestamp", "webhook: seconds since 1970 when the post was sent; the server rejects a difference of more than 5 minutes"),
				keyParam("webhook: detects repeated posts, with X-Hob-Timestamp (no dots); the id in the body takes precedence"),
			},
			security: []string{"signature"}, fails: []int{401},
			endpoint: endpoint{open: s.serveHook, request: neededBodyOf[HookMessage](), replies: []reply{
				{status: http.StatusOK, text: "OK, with the answer", json: []reflect.Type{reflect.TypeFor[HookResponse]()}},
				{status: http.StatusAccepted, text: "accepted", json: []reflect.Type{reflect.TypeFor[HookResponse]()}},
			}},
		},
	}
}

func (s *Server) clientRoutes() []route {
	const at = "/api/v1/clients"
	return []route{
		{
			method: "GET", path: at, id: "clients", tag: "lists", summary: "List the external programs with a token for /mcp or /a2a, newest first",
			params: []param{choiceParam("kind", "the kind of the clients", "mcp", "a2a")}, endpoint: listEndpoint(s, s.backend.Clients),
		},
		{
			method: "POST", path: at, id: "create_client", tag: "api", grave: true, summary: "Create a token for an external program; it opens only /mcp or only /a2a", fails: []int{409},
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, in api.NewClient) (api.ClientToken, error) {
				return s.backend.CreateClient(r.Context(), in)
			}),
		},
		{
			method: "POST", path: at + "/{kind}/{client}/revoke", id: "revoke_client", tag: "api", grave: true, summary: "Revoke the token of an external program and end its open calls", fails: []int{404},
			params: []param{pathParam("kind", "mcp or a2a"), pathParam("client", "name or id of the client")},
			endpoint: actionEndpoint(s, func(r *http.Request, _ call, _ struct{}) (api.Client, error) {
				return s.backend.RevokeClient(r.Context(), r.PathValue("kind"), r.PathValue("client"))
			}),
		},
	}
}

func (s *Server) triggerRoutes() []route {
	return []route{
		{
			method: "GET", path: "/api/v1/triggers", id: "triggers", tag: "lists", summary: "List the triggers",
			params: pageParams(), endpoint: listEndpoint(s, unfiltered(s.backend.Triggers)),
		},
		{
			method: "POST", path: "/api/v1/triggers/{trigger}/fire", id: "fire", tag: "api", summary: "Fire a trigger; the body becomes untrusted text",
			params: []param{
				pathParam("trigger", "name of the trigger"),
				headerParam("X-Hob-Signature", "v1=hex(HMAC-SHA256(timestamp.key.body)) with the trigger's secret, instead of the token; without X-Hob-Timestamp sha256=hex(HMAC-SHA256(body))"),
				headerParam("X-Hob-Timestamp", "seconds since 1970 when a signed request was sent; the server rejects a difference of more than 5 minutes"),
				keyParam("the sender's id for the request, which detects repetitions. It is used with X-Hob-Timestamp (no dots) or the token; otherwise the same signed body is accepted once"),
				headerParam("X-Request-Id", "like Idempotency-Key, but only with the token"),
			},
			security: []string{"token", "cookie", "signature"}, fails: []int{401},
			endpoint: endpoint{open: s.serveTrigger, request: &requestBody{}, replies: []reply{
				{status: http.StatusAccepted, text: "OK", json: []reflect.Type{reflect.TypeFor[api.Fired]()}},
			}},
		},
	}
}
