package failure

// ExitCodes is the help page about the exit codes.
const ExitCodes = `Exit codes (stable)

    0  ok               done; for conform: passed
    1  negative         it ran, and the answer is no: the tool reported an error,
                        the server does not conform, an expectation was not met, a
                        login would fail
    2  usage            the command line is wrong, or the arguments do not match the
                        tool's schema; nothing was sent
    3  unreachable      no such host, port, path or program, or the program exited
                        before its first answer
    4  auth             the server wants a login, or refuses the one that there is
                        (HTTP 401 or 403); the error says what helps
    5  protocol         the server broke the protocol
    6  rpc-error        the server answered with a JSON-RPC error
    7  unknown-outcome  timeout or lost connection after the request was sent: it
                        may have run
    8  not-found        no such tool, prompt or resource
    9  input-required   the server needs an answer from a person
   10  incomplete       a conformance run in which a requirement is inconclusive
   11  unavailable      the server or a limit of the client refused the call for now
   12  too-large        the answer is larger than --max-message
   70  bug              a bug in mcpctl; please report it
   74  output           the output or a file could not be written; delivery tells
                        whether the request ran
  129  hangup           the terminal was closed
  130  interrupted      Ctrl-C
  141  output-closed    the reader closed the output
  143  terminated       SIGTERM

What to do next: 2 correct the command line, 3 correct the address, 4 log in,
7 check whether it ran, 9 ask a person, 11 wait and repeat, 12 raise --max-message.`
