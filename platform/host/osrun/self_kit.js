// Reads what macOS allows of calendars (0) or reminders (1). It asks nobody.
function main(request) {
  ObjC.import('EventKit');
  return { status: Number($.EKEventStore.authorizationStatusForEntityType(Number(request.entity))) };
}
