// errors.ts: what can go wrong, as types.  Every refusal of a host is an ApiError with the members of its envelope; a host that
// cannot be reached is a TransportError.

/** Base of everything that this package throws. */
export class WoprError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No answer arrived: the connection failed, was cut, or took too long. */
export class TransportError extends WoprError {}

/** The attempt took longer than its time-out. */
export class RequestTimeoutError extends TransportError {}

/** The run has not ended in the time that the caller gave it. */
export class WaitTimeoutError extends WoprError {}

/** Bytes arrived that are not what a host sends: a proxy, or another program, answers at this address. */
export class UnexpectedAnswerError extends WoprError {}

/** What a host answers when it refuses: `{error, message, details?}`. */
export interface Refusal {
  status: number;
  /** The envelope's `error`: stable, for programs. */
  code: string;
  message: string;
  details: Record<string, unknown>;
  /** Quote it in reports: the log of the host has the same value. */
  requestId: string | undefined;
  /** From `Retry-After`, when the host sent one. */
  retryAfterMs: number | undefined;
}

/** The host refused the request. */
export class ApiError extends WoprError {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(refusal: Refusal) {
    super(`${refusal.status} ${refusal.code}: ${refusal.message}`);
    this.status = refusal.status;
    this.code = refusal.code;
    this.details = refusal.details;
    this.requestId = refusal.requestId;
    this.retryAfterMs = refusal.retryAfterMs;
  }
}

/** 400, 413, 415: the request is not valid; `details` names the place. */
export class InvalidRequestError extends ApiError {}
/** 401: the credential is missing, unknown, expired or revoked. */
export class AuthenticationError extends ApiError {}
/** 403: the credential lacks a scope. */
export class PermissionDeniedError extends ApiError {}
/** 404: there is no such resource, or this credential does not see it. */
export class NotFoundError extends ApiError {}
/** 409: the state does not allow it, or another request was first. */
export class ConflictError extends ApiError {}
/** 409 `task_lease_lost`: the task is over, or another worker has it. */
export class LeaseLostError extends ConflictError {}
/** 410: removed by retention, or the interrupt is over. */
export class GoneError extends ApiError {}
/** 422: there is no such sequence, or the run does not take this answer any more. */
export class UnprocessableError extends ApiError {}
/** 429: too many requests. */
export class RateLimitedError extends ApiError {}
/** 5xx: the host failed, is full, or shuts down. */
export class ServerError extends ApiError {}

const BY_STATUS: Record<number, typeof ApiError> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  410: GoneError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: UnprocessableError,
  429: RateLimitedError,
};

/** The error of the class that fits. */
export function refusalError(refusal: Refusal): ApiError {
  if (refusal.code === "task_lease_lost") return new LeaseLostError(refusal);
  const kind = BY_STATUS[refusal.status] ?? (refusal.status >= 500 ? ServerError : ApiError);
  return new kind(refusal);
}

const TEMPORARY_STATUS = new Set([408, 429, 500, 502, 503, 504]);

/** Whether the same request may succeed later. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof TransportError) return true;
  return error instanceof ApiError && (TEMPORARY_STATUS.has(error.status) || error.code === "idempotency_in_flight");
}
