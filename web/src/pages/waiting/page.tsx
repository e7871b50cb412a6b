// All that waits for people, oldest first.
import { definePage } from "../../app/page";
import { pending } from "../../app/pending";
import { T } from "../../text";
import { Loading } from "../../ui/parts";
import { Waiting } from "../../ui/waiting";

function View() {
  const list = pending.value;
  return (
    <section class="card" aria-labelledby="waiting-title">
      <header><h1 id="waiting-title">{T.ask.title}</h1></header>
      {!list ? <Loading /> : list.length === 0 ? <p class="empty">{T.ask.none}</p> : <ul>{list.map((p) => <Waiting key={p.interruptId} p={p} />)}</ul>}
    </section>
  );
}

export default definePage({ route: "waiting", title: "Waiting", order: 2, scopes: ["runs:read"], badge: () => pending.value?.length ?? 0, view: View });
