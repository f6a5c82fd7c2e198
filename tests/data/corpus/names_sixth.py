"""The sixth set of recipes: students, laboratories, shops and public data; first run before any was mended."""

from __future__ import annotations

from tests.data.corpus.tables import read_verdicts

READABLE = """\
# Statistics programs and libraries.
holdout_frame layout=pandas :: sepal_w = positive | species = y setosa/versicolor/virginica |
    proba_setosa = p of=setosa d=6 |
    proba_versicolor = p of=versicolor d=6 | proba_virginica = p of=virginica d=6
gam_fit layout=rnames :: kyphosis = y absent/present rate=.25 | Age = int 1 200 | Number = int 2 10 |
    fitted.prob = p d=7
lrm_predict layout=csv2 :: sterbe30 = y 0/1 rate=.2 | alter = age | vorhersage_p = p d=6
catboost_eval layout=tab :: SampleId = rownum 0 | Label = y 0/1 | Probability = p d=9
lightgbm_valid :: row = rownum 0 | is_good_answer = y 0/1 | raw_logit = p s=logit d=6
svm_platt :: true_class = y bird/frog | predicted_class = pred | prob_bird = p of=bird d=6 | prob_frog = p of=frog d=6
proc_logistic layout=windows :: ID = id | Low = y 0/1 rate=.3 | P_1 = p d=6
weka_output :: inst# = rownum 1 | actual = y tested_negative/tested_positive rate=.35 | predicted = pred |
    prob_tested_negative = p of=tested_negative d=3 | prob_tested_positive = p of=tested_positive d=3
tidy_augment :: .rownames = rownum 1 | obese = y FALSE/TRUE rate=.3 | .fitted_prob = p d=7 | .std_err = unit
mlogit_fits layout=rnames :: choice = y bus/car/rail | pr.bus = p of=bus d=5 | pr.car = p of=car d=5 |
    pr.rail = p of=rail d=5
spss_save layout=xlsx :: lfdnr = rownum 1 | kredit = y 0/1 rate=.3 | PRE_1 = p d=5 | PGR_1 = pred
oob_votes layout=rnames :: y = y A/B/C | oob_A = p of=A d=5 | oob_B = p of=B d=5 | oob_C = p of=C d=5
fold_predictions :: fold = int 1 10 | y_true = y 0/1 rate=.3 | y_hat = pred | y_score = p d=6
ranger_two layout=tab :: case_id = id | survived_yn = y N/Y rate=.6 | prob_N = p of=N d=5 | prob_Y = p of=Y d=5
torch_test layout=jsonl :: idx = rownum 0 | label = y 0..4 | probs = vec form=json d=6
keras_generator :: filename = id img/ | class_true = y daisy/rose/tulip | daisy = p of=daisy d=7 |
    rose = p of=rose d=7 |
    tulip = p of=tulip d=7
onnx_dump :: input_id = uuid | target_index = y 0..5 | output_{} = each s=logit d=5
glm_eta layout=comments :: mpg = normal 20 5 | vs = y 0/1 rate=.45 | prob_vs = p d=6
julia_mlj :: target = y versicolor/virginica | pdf_versicolor = p of=versicolor d=6 |
    pdf_virginica = p of=virginica d=6
matlab_scores layout=tab :: TrueLabel = y ionb/iong | Score_ionb = p of=ionb d=5 | Score_iong = p of=iong d=5 |
    PredLabel = pred

# Medicine and public health.
nhanes_dm :: SEQN = rownum 83732 | RIDAGEYR = age | BMXBMI = normal 28 6 | DIQ010 = y No/Yes rate=.2 |
    pred_diabetes = p d=5
framingham :: randid = id | sysBP = normal 132 22 | TenYearCHD = y 0/1 rate=.2 | TenYearCHD_prob = p d=5
chexpert :: Path = id patient | Sex = group Female/Male | Pneumothorax = y 0/1 rate=.2 | Pneumothorax_prob = p d=6
ham10000 :: image_id = id ISIC_ | dx = y akiec/bcc/bkl/mel/nv | {} = each d=6
derm_binary :: lesion_id = id HAM_ | benign_malignant = y benign/malignant rate=.3 | malignancy_score = p d=5
diab_retina :: id_code = uuid | diagnosis = y 0..4 | grade_{}_prob = each d=5
icu_sepsis layout=pipe :: ICUSTAY = rownum 200001 | HR = normal 88 18 | SepsisLabel = y 0/1 rate=.2 |
    PredictedProbability = p d=6
timi_percent layout=xlsx :: Patient No = rownum 1 | TIMI = int 0 7 | MACE 30d = y no/yes rate=.2 |
    Predicted risk (%) = p s=pct d=1
news2_ward layout=semicolon :: admission = id AD | ward = cluster W 7 | news2 = int 0 15 |
    deteriorated = y 0/1 rate=.2 |
    det_prob = p d=4
krebs_de layout=comma :: Pat.-Nr. = rownum 1001 | Tumorgröße mm = normal 21 8 | Rezidiv = y Nein/Ja rate=.3 |
    P(Rezidiv) = p d=3
grossesse_fr layout=latin :: dossier = id D | âge = age | prématuré = y non/oui rate=.2 | risque_prématurité = p d=3
embarazo_es layout=comma :: Historia = rownum 501 | Edad = age | Preeclampsia = y no/sí rate=.2 |
    Probabilidad preeclampsia = p d=3
alzheimer :: RID = rownum 2 | SITE = cluster 8 | DX = y CN/Dementia/MCI | prob_CN = p of=CN d=5 |
    prob_Dementia = p of=Dementia d=5 |
    prob_MCI = p of=MCI d=5
biomarker :: sample_code = id S | ca125 = positive | ovarian_ca = y benign/cancer rate=.3 | roma_prob_cancer = p d=4
covid_ct :: scan_id = id ct | covid_pcr = y negative/positive rate=.4 | p_positive = p d=5
transplant layout=quoted :: donor_id = id D | centre = cluster C 6 | graft_failure = y 0/1 rate=.2 |
    predicted_graft_failure = p d=5
dropout_trial layout=bom :: subject = id SUBJ | arm = group active/placebo | dropout = y 0/1 rate=.25 |
    pr_dropout = p d=5
ecg_beats :: record = cluster 9 | beat_ann = y F/N/S/V | p_F = p of=F d=5 | p_N = p of=N d=5 | p_S = p of=S d=5 |
    p_V = p of=V d=5
weighted_survey :: psu = cluster 9 | smoker = y 0/1 rate=.25 | phat_smoker = p d=5 | sampling_weight = weight
apgar layout=markdown :: birth_no = rownum 1 | nicu = y no/yes rate=.2 | nicu_risk = p d=3
na_strings blank=died_1y:0.1 na=NA :: idnr = rownum 1 | died_1y = y 0/1 rate=.25 | predicted_1y = p d=4
logit_clinic layout=tab :: pat = rownum 1 | linear_predictor = p s=logit d=5 | event_90d = y 0/1 rate=.25
falls_nl layout=semicolon :: bewoner = rownum 1 | leeftijd = age | gevallen = y nee/ja rate=.25 | valrisico = p d=3

# Credit, insurance, shops and customers.
german_credit :: duration = int 4 72 | credit_amount = money | class = y good/bad rate=.3 | prob_bad = p d=5
taiwan :: ID = rownum 1 | LIMIT_BAL = thousands | default.payment.next.month = y 0/1 rate=.22 |
    predicted_default = p d=6
lending :: member_id = rownum 1077501 | grade = cat A/B/C/D | loan_status = y Fully~Paid/Charged~Off rate=.2 |
    prob_charged_off = p d=5
bank_mkt layout=semicolon :: age = age | job = cat admin/blue-collar/technician | y = y no/yes rate=.15 |
    p_yes = p d=5
telco :: customerID = id | tenure = int 0 72 | MonthlyCharges = money | Churn = y No/Yes rate=.27 |
    churn_probability = p d=5
ecommerce layout=jsonl :: visitor = uuid | session_pages = int 1 40 | purchased = y False/True rate=.2 |
    purchase_prob = p d=6
ctr_log layout=tab :: imp_id = uuid | slot = cat top/side | click = y 0/1 rate=.15 | pCTR = p d=6
porto :: id = rownum 7 | target = y 0/1 rate=.15 | target_prob = p d=6
ifrs_nine layout=pipe :: CONTRACT_ID = id K | STAGE = int 1 3 | DEFAULT_FLAG_12M = y 0/1 rate=.15 | PD_12M = p d=6 |
    OBS_DATE = date
pd_percent layout=xlsx_titled :: Client = id CL | Branch = cluster B 6 | PD (%) = p s=pct d=2 |
    Default = y 0/1 rate=.15
motor_claims :: IDpol = rownum 1 | VehAge = int 0 20 | ClaimInd = y 0/1 rate=.15 | claim_prob = p d=5 |
    Exposure = weight
storno_de layout=excel :: Vertrag = id V | Beitrag = money | Storno = y nein/ja rate=.2 |
    Stornowahrscheinlichkeit = p d=4
resiliation_fr layout=comma :: n° contrat = rownum 20001 | ancienneté = int 0 30 | résilié = y non/oui rate=.2 |
    proba_résiliation = p d=4
impago_es layout=comma :: Nº cliente = rownum 1 | Provincia = cat Lugo/Jaén/Soria | Impago = y No/Sí rate=.2 |
    Prob. impago = p d=3
aml_alerts :: alert_id = id AL | scenario = cat cash/wire | sar_filed = y N/Y rate=.25 | sar_probability = p d=5
refunds layout=records :: orderId = uuid | refunded = y False/True rate=.25 | refundProbability = p d=6
basket_multi :: cust = rownum 1 | next_category = y beverage/dairy/frozen/produce | pr_beverage = p of=beverage d=5 |
    pr_dairy = p of=dairy d=5 | pr_frozen = p of=frozen d=5 | pr_produce = p of=produce d=5
hr_attrition :: EmployeeNumber = rownum 1 | Department = cat Sales/HR | Attrition = y No/Yes rate=.2 |
    Attrition_Prob = p d=5
prepay_bps :: pool = id P | prepaid = y 0/1 rate=.2 | prepay_prob_bps = p s=bps
collections :: account_no = rownum 1 | balance = thousands | paid_within_30d = y 0/1 rate=.4 | prob_pay = p d=5
two_col_gb layout=sql_server :: appl_id = rownum 1 | gb_flag = y G/B rate=.2 | prob_G = p of=G d=6 |
    prob_B = p of=B d=6
tenancy layout=utf16 :: Tenancy ref = id T | Arrears = y No/Yes rate=.3 | Probability of arrears = p d=4
auction layout=split_json :: lot = rownum 1 | sold = y 0/1 rate=.6 | sold_proba = p d=8

# Language models, text, speech and documents.
triviaqa layout=jsonl :: question_id = id tc_ | question = text questions | prediction = text |
    confidence = conf d=3 |
    is_correct = correct False/True
gsm8k :: problem = rownum 0 | answer_text = text | self_confidence = conf s=pct d=0 steps=20 | correct = correct 0/1
mmlu_abcd :: subject = cat anatomy/law | answer = y A/B/C/D | A = p of=A d=5 | B = p of=B d=5 | C = p of=C d=5 |
    D = p of=D d=5
mmlu_logprob :: item = rownum 1 | gold = y A/B/C/D | logprob_{} = each s=logp d=5
boolq layout=jsonl :: passage_id = rownum 0 | answer = y False/True rate=.6 | p_true = p d=6
ag_news :: Description = text | Class = y Business/Sci~Tech/Sports/World | Business = p of=Business d=6 |
    Sci Tech = p of=Sci~Tech d=6 |
    Sports = p of=Sports d=6 | World = p of=World d=6
sst_two :: sentence = text | sentiment = y neg/pos rate=.5 | prob_pos = p d=6
mnli :: pairID = id p | gold_label = y contradiction/entailment/neutral | {}_score = each d=5
toxic :: comment_text = text | toxic = y 0/1 rate=.2 | toxic_prob = p d=6
lang_id :: snippet = text | lang = y de/en/fr/nl | p_de = p of=de d=4 | p_en = p of=en d=4 | p_fr = p of=fr d=4 |
    p_nl = p of=nl d=4
verbal_word :: qnr = rownum 1 | question = text questions | ai_answer = text | correct = correct no/yes |
    stated_pct = conf s=pct d=0 steps=20
agent_runs :: task_id = id task | model = model haiku/opus | success = correct 0/1 | predicted_success = conf d=3
ocr_fields layout=semicolon :: doc = cluster D 12 | field_text = predtext | truth_text = ytext |
    ocr_confidence = conf d=3
asr_words layout=tab :: utt = cluster U 9 | hyp_word = predtext | ref_word = ytext | word_conf = conf d=4
ner_spans :: span_id = rownum 1 | gold_type = y LOC/ORG/PER | pred_type = pred | type_confidence = conf d=4
detector :: image_id = cluster im 9 | category = cat cat/dog | det_score = conf d=4 | true_positive = correct 0/1
support_routing layout=records :: ticketId = uuid | correctQueue = y billing/sales/tech | predictedQueue = pred |
    confidence = conf d=4
claim_check :: claim_no = rownum 1 | label_gold = y NOTENOUGH/REFUTES/SUPPORTS | prob_NOTENOUGH = p of=NOTENOUGH d=5 |
    prob_REFUTES = p of=REFUTES d=5 | prob_SUPPORTS = p of=SUPPORTS d=5
grading_ten :: essay = rownum 1 | judge_conf = conf s=frac steps=10 | agrees_with_human = correct no/yes
code_eval layout=jsonl :: task_id = id HumanEval/ | completion = text | mean_token_prob = conf d=5 |
    passed = correct False/True
hallucination :: response_id = uuid | hallucinated = y 0/1 rate=.3 | hallucination_prob = p d=5
safety_scores layout=jsonl :: prompt_id = rownum 1 | harmful = y false/true rate=.3 | harmful_score = p d=5
reranker layout=tab :: query_id = cluster q 9 | doc_id = id d | relevant = y 0/1 rate=.3 | relevance_prob = p d=5

# Weather, sports, nature, machines, pictures.
hail :: issue_time = date | county = maybe_cluster 6 | hail_prob = p d=2 | hail_reported = y 0/1 rate=.2
aurora_pct :: night = date | kp = int 0 9 | aurora_chance_percent = p s=pct d=0 | aurora_seen = y no/yes rate=.3
nba :: game_id = rownum 22200001 | home_team = cat BOS/LAL/MIA | home_win = y 0/1 rate=.55 | home_win_prob = p d=4
tennis :: match_num = rownum 1 | surface = cat clay/grass | player1_won = y 0/1 rate=.5 | p1_win_prob = p d=4
soccer :: match_id = id M | outcome = y away/draw/home | prob_home = p of=home d=4 | prob_draw = p of=draw d=4 |
    prob_away = p of=away d=4
election layout=semicolon :: seat = rownum 1 | winner = y CON/LAB/LD | p_CON = p of=CON d=3 |
    p_LAB = p of=LAB d=3 | p_LD = p of=LD d=3
horses :: race_no = cluster 9 | runner = id H | won = y 0/1 rate=.2 | win_prob = p d=4
mushrooms :: odor = cat a/n/f | class = y edible/poisonous | proba_edible = p of=edible d=5 |
    proba_poisonous = p of=poisonous d=5
covertype :: elevation = normal 2900 250 d=0 | Cover_Type = y 1..7 | p_{} = each d=6
satimage layout=tab :: pixel = rownum 1 | land_use = y 1/2/3/4/5/7 | prob_{} = each d=5
plankton :: image = id p | plankton_class = y copepod/diatom/krill | copepod = p of=copepod d=6 |
    diatom = p of=diatom d=6 |
    krill = p of=krill d=6
whales :: clip = id w | whale_call = y 0/1 rate=.2 | probability = p d=6
secom :: wafer = rownum 1 | Pass/Fail = y -1/1 rate=.2 | P(fail) = p d=5
turbine layout=comments :: turbine_id = maybe_cluster T 8 | icing = y 0/1 rate=.2 | icing_probability = p d=5
disks layout=parquet :: serial_number = uuid | date = date | failure = y 0/1 rate=.2 | p_failure = p d=7
galaxy :: objid = rownum 1237648 | morph = y elliptical/merger/spiral | p_el = p of=elliptical d=4 |
    p_mg = p of=merger d=4 |
    p_sp = p of=spiral d=4
stars :: obj_ID = rownum 1 | class = y GALAXY/QSO/STAR | prob_GALAXY = p of=GALAXY d=5 | prob_QSO = p of=QSO d=5 |
    prob_STAR = p of=STAR d=5
fashion :: image_nr = rownum 0 | label = y 0..9 | p{} = each d=6
svhn_logits layout=parquet :: idx = rownum 0 | digit = y 0..9 | z{} = each s=logit d=5
traffic_signs :: Filename = id ts | ClassId = y 0..15 | class_{}_prob = each d=5
votes_forest :: tree_case = rownum 1 | soil = y clay/loam/sand | votes_clay = p of=clay s=trees |
    votes_loam = p of=loam s=trees |
    votes_sand = p of=sand s=trees
plant_pct layout=xlsx :: plot = rownum 1 | disease = y healthy/rust/scab | healthy % = p of=healthy s=pct d=1 |
    rust % = p of=rust s=pct d=1 | scab % = p of=scab s=pct d=1
students :: student = id ST | school = cluster SCH 7 | passed_exam = y fail/pass rate=.6 | p_pass = p d=4
recid :: person_id = rownum 1 | race = group A/B/C | recidivated = y 0/1 rate=.4 | risk_prob = p d=3
accidents layout=bom_comma :: Unfall_ID = rownum 1 | schwer verletzt = y nein/ja rate=.2 |
    Wahrscheinlichkeit schwer verletzt = p d=3
"""

# Two readings are plausible, or the scale cannot be told.
ASKED = """\
three_boosters :: y_test = y 0/1 | xgb_prob = p m=xgb d=5 | lgb_prob = p m=lgb d=5 | cat_prob = p m=cat d=5
human_and_ai also=dx_true:human_p :: slide = rownum 1 | dx_true = y 0/1 | ai_p = p m=ai d=4 | human_p = p m=human d=2
two_ends also=dead_1y:risk_model :: pat = rownum 1 | dead_30d = y 0/1 rate=.25 | dead_1y = y2 0/1 | risk_model = p d=4
decision_value or_refuse=yes :: sample = rownum 1 | decision_function = p s=logit d=4 | tumour = y 0/1 rate=.4
five_year_survival or_refuse=yes :: pat_id = rownum 1 | survival_prob = p of=0 d=4 | died = y 0/1 rate=.3
who_wins or_refuse=yes :: bout = rownum 1 | side = y left/right rate=.5 | prob = p d=3
score_of_ten or_refuse=yes :: person = rownum 1 | score = p s=ten d=1 | bought = y 0/1 rate=.4
percent_small :: account = rownum 1 | probability = p s=pct d=2 | bad = y 0/1 rate=.1
unnamed_columns or_refuse=yes also=c:a,c:b,c:d,a:b,a:d :: a = flag | b = unit | c = y 0/1 | d = p
headless_two layout=headless or_refuse=yes :: one = p d=5 | two = y 0/1
a_or_b or_refuse=yes :: id = rownum 1 | variant = y A/B rate=.5 | predicted_prob = p d=4
champion also=default_12m:challenger_pd :: cid = rownum 1 | champion_pd = p m=champion d=5 |
    challenger_pd = p m=challenger d=5 |
    default_12m = y 0/1 rate=.2
two_nets :: label = y cat/dog/fox | resnet_{} = each m=resnet d=5 | vit_{} = each m=vit d=5
unit_score or_refuse=yes :: nr = rownum 1 | safety_index = p of=0 d=3 | accident = y 0/1 rate=.3
european_odds or_refuse=yes :: game = rownum 1 | res = y A/D/H | odds_H = p of=H s=decimal d=2 |
    odds_D = p of=D s=decimal d=2 |
    odds_A = p of=A s=decimal d=2
gap_half blank=closed_flag:0.7 or_refuse=yes :: nr = rownum 1 | closed_flag = y 0/1 rate=.5 | p_close = p d=4
annotators also=annotator_2:model_p :: nr = rownum 1 | annotator_1 = y 0/1 | annotator_2 = y2 0/1 | model_p = p d=4
shifted_codes or_refuse=yes :: nr = rownum 1 | kind = y 1/2/3 | prob_{i} = each d=5
gender_code or_refuse=yes :: nr = rownum 1 | sex = y 1/2 rate=.5 | p_sex = p d=4
"""

# Nothing to read.
REFUSED = """\
calibration_points n=10 or_refuse=yes :: bin_center = unit | observed_freq = unit | n_in_bin = int 5 200
pr_curve n=40 or_refuse=yes :: precision = unit | recall = unit | threshold = unit
history n=30 or_refuse=yes :: epoch = rownum 1 | loss = unit | accuracy = unit | val_loss = unit | val_accuracy = unit
feature_table :: sex = flag | bmi = normal 27 4 | glucose = normal 100 20 | diabetic = y 0/1 rate=.2
hard_labels :: y_true = y a/b/c | y_pred = pred
submission or_refuse=yes :: PassengerId = rownum 892 | Survived_proba = p d=6
scorecard or_refuse=yes :: client = id | points = int 300 850 | bad_flag = y 0/1 rate=.25
prices :: house = rownum 1 | price = thousands | predicted_price = thousands
sensor_series :: time = date form=%Y-%m-%d~%H:%M | temperature = normal 61 4 | humidity = normal 40 9
shap_values n=40 :: feature = id f | mean_abs_shap = unit
texts_only :: body = text | folder = y inbox/spam
confusion n=12 or_refuse=yes :: predicted = cat a/b/c | actual = cat a/b/c | count = int 0 90
coefficients n=18 :: term = id x | estimate = gauss | std_error = unit | p_value = unit
"""

RECIPES = read_verdicts(READABLE, ASKED, REFUSED)
