// Package crew is about several agents: which one answers in a conversation,
// and how one hands tasks to others.
//
// # Agents and routes
//
// An agent (Member) is an agent.Agent with a persona, a brain, tools, a realm of
// memory and limits of its own. "hob" is always there. Which one answers is
// decided for each event (Pick): what the owner chose for this conversation
// with /agent, else the most exact route that fits, else the default. A
// conversation belongs to one agent at a time: when another one takes it over,
// its window begins afresh, so that nobody reads on in what was said to
// somebody else. What was said before a choice is still answered by who was
// there then. A tool that an agent does not have is not in its catalogue; a
// call of it by a guessed name is denied.
//
// # Tasks that are handed on
//
// delegate_tasks makes, in the transaction that records its call as begun, one
// inbox event and one row for each task. A sub-agent is nothing but such an
// event: it is claimed, resumed after a crash and given up like any other. Its
// conversation is the parent's with its own id behind it ("home/t-1a2b3c4d").
//
//	parent turn: call begun, turn put away --+--> child events --> child turns
//	     ^                                    |        (at most crew.parallel
//	     |                                    |         of one call at a time)
//	     +-- resumed by the last child's end -+
//
// The parent holds no place while it waits: its event lies in the inbox until
// the last child's end makes it due, in the transaction of that end, or until
// crew.timeout has passed. So any number of parents may wait, and the children
// find places. A child that waits for the owner stops that clock. Tasks in the
// background let the turn go on at once; what they come to is told in the
// parent's conversation, and where that was asked for, begins a turn there.
//
// # Rights
//
// A child never has more than its parent: its tools are those that its agent
// and its parent both have and that the task names; its level is the narrower
// one; attended, guest and origin are the parent's; outside text in the
// parent's context makes the task outside text, and outside text that a child
// has read comes back with its result. Grants belong to a conversation, so
// none of the parent's reaches the child. What a child must ask is asked where
// the parent's questions are asked. The rounds and tokens of children count as
// their parent's: each is granted an equal part of what is left of the turn's
// limits.
//
// /stop in a conversation stops every task below it; one task alone can be
// cancelled. A child that fails, hangs or is cancelled is a named failure in
// the parent's result.
//
// The package runs no turn itself: the loop does, and asks here what to run and
// tells what came of it.
package crew
