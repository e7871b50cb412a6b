"""A worker: nodes of the type acme.price are executed here.  WOPR_URL and WOPR_API_KEY say where the host is."""
import os

from wopr_client import WoprClient

PRICES = {"pen": 2, "desk": 310}

client = WoprClient(os.environ.get("WOPR_URL", "http://127.0.0.1:8080"), os.environ["WOPR_API_KEY"])
worker = client.worker()


@worker.node("acme.price")
def price(task):
    total = PRICES[task.input["item"]] * task.input["pieces"]
    print("priced:", task.input["item"], total, flush=True)
    return {"total": total}


worker.run()
