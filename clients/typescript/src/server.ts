/** For your own server: signs the subjects of visitors. */

/**
 * A token that lets a page decide and reward for one subject with a publishable key.
 *
 * @param secret The token secret of the key; it never leaves your server.
 * @param seconds How long the token is valid.
 */
export async function signSubject(
  secret: string,
  subject: string,
  seconds = 86_400,
): Promise<string> {
  const encoder = new TextEncoder();
  const text = String.fromCharCode(...encoder.encode(subject));
  const encoded = btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const content = `${Math.floor(Date.now() / 1000 + seconds)}.${encoded}`;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const bytes = encoder.encode(secret);
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(content)));
  const hexadecimal = Array.from(signature, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${content}.${hexadecimal}`;
}
