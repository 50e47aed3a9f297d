// Evaluates flags with the two official JavaScript providers: node ofrep_clients.mjs http://127.0.0.1:PORT
// Prints one JSON object; test_ofrep_javascript.py checks it.
import { OpenFeature as Server } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature as Web } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

const baseUrl = process.argv[2];
const result = { server: [], web: [] };
const brief = ({ value, reason, variant, errorCode, flagMetadata }) => ({
  value, reason, variant, errorCode, ticket: flagMetadata?.ticket, probability: flagMetadata?.probability,
});

await Server.setProviderAndWait(new OFREPProvider({ baseUrl }));
const server = Server.getClient();
const anna = { targetingKey: "anna" };
for (let i = 0; i < 2; i++) result.server.push(brief(await server.getStringDetails("banner", "default", anna)));
result.server.push(brief(await server.getBooleanDetails("checkout", false, anna)));
result.server.push(brief(await server.getStringDetails("unknown", "default", anna)));
result.server.push(brief(await server.getStringDetails("banner", "default", {})));

// The web provider evaluates all flags when it starts, and again when the context changes.
const statuses = [];
const counted = async (request, ...rest) => {
  const answer = await fetch(request, ...rest);
  statuses.push(answer.status);
  return answer;
};
await Web.setContext(anna);
const provider = new OFREPWebProvider({
  baseUrl, fetchImplementation: counted, cacheMode: "disabled", disableLocalCache: true, pollInterval: 0,
  changeDetection: "none",
});
await Web.setProviderAndWait(provider);
const web = Web.getClient();
result.web.push(brief(web.getStringDetails("banner", "default")));
await Web.setContext({ ...anna });
result.web.push(brief(web.getStringDetails("banner", "default")));
result.web.push(brief(web.getBooleanDetails("checkout", false)));
result.statuses = statuses;
console.log(JSON.stringify(result));
await Web.close();
await Server.close();
