// What the authorization servers of scripts/logins.sh have in common: the page that asks
// the person, and the requests by which the play tells them how to behave. They listen on
// loopback, print one JSON line when they do, and end with their stdin.
import { createServer } from 'node:http';

export const lasting = 3600; // seconds that an access token lives, unless the play says otherwise
export const person = { name: 'ada', password: 'secret' };

// page is a form that asks the person to log in and to allow what is wanted.
export const page = (action, hidden = {}) => `<form method="post" action="${escape(action)}">
${Object.entries(hidden).map(([name, value]) => `<input type="hidden" name="${name}" value="${escape(value)}">`).join('')}
<input name="username"><input name="password" type="password"><button>Allow</button></form>`;

const escape = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

// known is whether a form has the name and the password of the person.
export const known = (form) => form.username === person.name && form.password === person.password;

// form reads what a form posted.
export async function form(req) {
  let body = '';
  for await (const part of req) body += part;
  return Object.fromEntries(new URLSearchParams(body));
}

// serve passes requests to handle, and those below /control/ to the functions of control:
// each has the query of its request.
export function serve(handle, control) {
  process.stdin.resume().on('end', () => process.exit());
  const server = createServer(async (req, res) => {
    const at = new URL(req.url, 'http://127.0.0.1');
    const [, name] = /^\/control\/(\w+)$/.exec(at.pathname) ?? [];
    if (!name) return handle(req, res);
    try {
      await control[name]?.(at.searchParams);
      return res.end();
    } catch (err) {
      console.error(err);
      res.statusCode = 500;
      return res.end(String(err));
    }
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ event: 'listening', url: `http://127.0.0.1:${server.address().port}` }));
  });
}
